import { spawn } from 'node:child_process';
import { cpSync, readdirSync, readFileSync } from 'node:fs';
import { builtinModules } from 'node:module';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { afterAll, beforeAll, expect, it } from 'vitest';

import { type InstalledPackage, installPackage } from './install-package.ts';

let installed: InstalledPackage;
beforeAll(() => void (installed = installPackage()));
afterAll(() => installed?.remove());

/** Runs the installed program; `passphrase` goes in by file descriptor 3. */
async function chantier(args: readonly string[], env: Record<string, string> = {}, passphrase = '') {
  const child = spawn(installed.program, [...args, '--json'], {
    cwd: installed.env.HOME,
    env: { ...installed.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    detached: true, // nobody sits at a terminal
  });
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
  const third = child.stdio[3] as NodeJS.WritableStream;
  third.on('error', () => {}); // a verb that asks for none closes it
  third.end(`${passphrase}\n`);
  const [stdout, stderr, code] = await Promise.all([text(child.stdout!), text(child.stderr!), ended]);
  return { code, json: JSON.parse(stdout || 'null'), stderr };
}

it('ships programs, console, agents of the demo and licences, and neither sources nor tests', () => {
  const wanted = [
    'bin/chantier',
    'dist/cli.js',
    'dist/wall.js',
    'dist/pty-host.js',
    'dist/web/index.html',
    'dist/THIRD-PARTY-LICENSES',
  ];
  expect(installed.files).toEqual(expect.arrayContaining([...wanted, 'examples/agents/demo-author.mjs', 'LICENSE']));
  expect(
    installed.files.filter((file) => /^(src|test|web|scripts|node_modules)\/|\.test\.|\.tsx?$/.test(file)),
  ).toEqual([]);
  const licences = readFileSync(join(installed.folder, 'dist/THIRD-PARTY-LICENSES'), 'utf8');
  for (const name of ['commander', 'hono', 'kysely', 'pg', 'pino', 'react', 'zod'])
    expect(licences).toMatch(new RegExp(`^${name} \\d`, 'm'));
});

it('needs no other package: none is named but the optional native one, and no bundled file asks for one', () => {
  const manifest = JSON.parse(readFileSync(join(installed.folder, 'package.json'), 'utf8')) as Record<string, unknown>;
  expect(manifest.dependencies).toBeUndefined();
  expect(Object.keys(manifest.optionalDependencies as object)).toEqual(['@lydell/node-pty']);
  const dist = join(installed.folder, 'dist');
  const programs = readdirSync(dist, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /^(chunks\/)?[^/]+\.js$/.test(file),
  );
  const asked = programs.flatMap((file) => {
    const source = readFileSync(join(dist, file), 'utf8');
    return [...source.matchAll(/^(?:import|export)\b[^;'"]*?["']([^."'][^"']*)["'];$/gm)].map(([, name]) => name!);
  });
  expect(new Set(asked.filter((name) => !name.startsWith('node:') && !builtinModules.includes(name)))).toEqual(
    new Set(),
  );
});

it('runs the demo, unattended, from the installed package (design 9)', async () => {
  const demo = await chantier(['demo', '--unattended']);
  const steps = (demo.json?.steps ?? []) as { name: string; ok: boolean }[];
  expect(
    steps.filter((step) => !step.ok),
    demo.stderr,
  ).toEqual([]);
  expect(steps.length).toBeGreaterThan(10);
  expect(demo.code).toBe(0);
});

it('first run, status and end work from the installed package; the console is served', async () => {
  const env = { CHANTIER_HOME: join(installed.env.HOME!, 'c'), CHANTIER_PORT: '0' };
  try {
    const init = await chantier(['init', '--phase', '3', '--passphrase-fd', '3'], env, 'a long enough passphrase');
    expect(init.code, init.stderr).toBe(0);
    const up = await chantier(['up', '--detach'], env);
    expect(up.code, up.stderr).toBe(0);
    const status = await chantier(['status'], env);
    expect(status.json).toMatchObject({ phase: 3, sessions: [] });
    // The native part of terminals was not installed here: said, with what to do, and only where it is wanted.
    const add = [
      'agent',
      'add',
      '--json',
      'draw',
      '--family',
      'mistral',
      '--passphrase-fd',
      '3',
      '--driver',
      'command',
    ];
    const tty = await chantier([...add, '--tty', '--', '/bin/cat'], env, 'a long enough passphrase');
    expect(tty).toMatchObject({
      code: 6,
      json: { code: 'pty_missing', detail: expect.stringContaining('--omit=optional') },
    });
    expect((await chantier([...add, '--', '/bin/cat'], env, 'a long enough passphrase')).code).toBe(0);
    const native = join(installed.folder, '../@lydell');
    cpSync(join(import.meta.dirname, '../../node_modules/@lydell'), native, { recursive: true });
    expect((await chantier([...add, '--tty', '--', '/bin/cat'], env, 'a long enough passphrase')).code).toBe(0);
    const page = await fetch(up.json.url as string);
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('<script')]);
  } finally {
    const down = await chantier(['down', '--stop-agents'], env);
    expect(down.code).toBe(0);
  }
});
