import { readFileSync } from 'node:fs';

import { describe, expect, test } from 'vitest';

import { commands } from '../../src/cli/index.ts';
import { type Setting, settings } from '../../src/config/index.ts';
import { isTerminal, refusalOutcomes } from '../../src/kernel/index.ts';
import { toolsOf } from '../../src/mcp/index.ts';
import { eventKinds } from '../../src/store/index.ts';
import { rights } from '../../src/wire/index.ts';
import { generatedPages } from './generated-pages.ts';
import { permissive, shippedPackages } from './pages/licences.ts';
import { everyNo } from './pages/refusals.ts';
import { machines } from './pages/states.ts';

test('every generated page is what the program says of itself (run `npm run docs`)', async () => {
  for (const { file, content } of await generatedPages()) {
    expect([file, read(file)]).toEqual([file, content]);
  }
});

describe('the reference names', () => {
  test('every verb with its help', () => {
    const text = read('docs/reference/cli.md');
    for (const verb of Object.keys(commands)) expect(text).toContain(`## chantier ${verb}\n`);
  });

  test('every setting with its variable', () => {
    const text = read('docs/reference/settings.md');
    for (const [name, { env }] of Object.entries<Setting>(settings)) {
      expect(text).toContain(`| \`${name}\` |`);
      if (env !== null) expect(text).toContain(`\`${env}\``);
    }
  });

  test('every route, and the OpenAPI document every route of the table of rights and no other', () => {
    const text = read('docs/reference/http.md');
    const document = JSON.parse(read('docs/reference/openapi.json')) as { paths: Record<string, object> };
    const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
      Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
    );
    expect(routes.toSorted()).toEqual(Object.keys(rights).toSorted());
    for (const route of routes) expect(text).toContain(`| \`${route}\` |`);
  });

  test('every kind of event', () => {
    const text = read('docs/reference/events.md');
    for (const [kind, meaning] of Object.entries(eventKinds)) expect(text).toContain(`| \`${kind}\` | ${meaning}`);
  });

  test('every kind of refusal, and every code', () => {
    const text = read('docs/reference/refusals.md');
    for (const kind of Object.keys(refusalOutcomes)) expect(text).toContain(`| \`${kind}\` |`);
    const codes = everyNo().map(({ code }) => code);
    expect(codes.length).toBeGreaterThan(100);
    for (const code of codes) expect(text).toContain(`| \`${code}\` |`);
  });

  test('every tool of agents', () => {
    const text = read('docs/reference/mcp-tools.md');
    for (const { name } of Object.values(toolsOf).flat()) expect(text).toContain(`| \`${name}\` |`);
  });

  test('every state of every machine, and ends only where nothing leaves', () => {
    for (const { name, moves } of machines) {
      const text = read(`docs/states/${name}.md`);
      for (const state of Object.keys(moves)) {
        expect(text).toContain(`| \`${state}\` |`);
        expect([state, text.includes(`  ${state} --> [*]\n`)]).toEqual([state, isTerminal(moves, state)]);
      }
    }
  });
});

test('everything that is shipped has a permissive licence', () => {
  const packages = shippedPackages();
  expect(packages.map(({ name }) => name)).toEqual(expect.arrayContaining(['hono', 'pg', 'react', 'react-dom']));
  expect(packages.filter(({ license }) => !permissive.includes(license))).toEqual([]);
});

function read(file: string): string {
  return readFileSync(file, 'utf8');
}
