import { readFileSync } from 'node:fs';

import { expect, test } from 'vitest';

import { commands } from '../../src/cli/index.ts';
import { rights } from '../../src/wire/index.ts';
import { referenceFiles } from './reference.ts';

test('the reference is what the program describes of itself (npm run reference writes it)', async () => {
  for (const [file, content] of await referenceFiles()) {
    expect([file, readFileSync(file, 'utf8')]).toEqual([file, content]);
  }
});

test('the OpenAPI document has every route of the table of rights and no other', async () => {
  const [, text] = (await referenceFiles()).find(([file]) => file.endsWith('openapi.json'))!;
  const document = JSON.parse(text) as { paths: Record<string, Record<string, unknown>> };
  const routes = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  );
  expect(routes.toSorted()).toEqual(Object.keys(rights).toSorted());
});

test('every verb is in the reference', () => {
  const text = readFileSync('docs/reference/cli.md', 'utf8');
  for (const verb of Object.keys(commands)) expect(text).toContain(`## chantier ${verb}\n`);
});
