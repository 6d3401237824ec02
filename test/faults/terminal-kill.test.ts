import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { openScreen, parseTerminalFrame } from '../../src/terminal/index.ts';
import { node, packageFolder } from '../e2e/built-package.ts';
import { createInstance, type Instance } from '../e2e/instance.ts';
import { descendants, isAlive, startOf } from '../e2e/processes.ts';
import { sitDown } from '../e2e/sit-down.ts';
import { makeMakeRepository } from '../repositories/index.ts';

let instance: Instance;
beforeAll(async () => {
  instance = createInstance();
  await instance.up();
  await instance.init();
});
afterAll(() => instance?.dispose());

/** A session of an agent at a terminal, running. */
async function start(codename: string, command: string[]) {
  const agent = { codename, family: 'mistral', driver: 'command', roles: ['author'], tty: true, command };
  const added = await instance.send('POST', '/api/agents', agent, { proof: true });
  expect(added.status).toBe(201);
  const repository = makeMakeRepository(join(instance.root, codename));
  const run = await instance.must(['run', `Draw for ${codename}`, '--repo', repository, '--agent', codename]);
  const waits = run.json.waitsFor as string | null;
  if (waits) await instance.must(['approve', waits], { proof: true });
  return instance.until('the session to run', async () => {
    const { items } = await instance.get('/api/sessions?limit=200');
    return items.find((one: { agent: string; state: string }) => one.agent === codename && one.state === 'RUNNING');
  });
}

test('a program at a terminal outlives a server that is killed; who types at it goes on after the restart, and no key is lost or doubled (S-48, sessions case 65)', async () => {
  const session = await start('painter', [node, join(packageFolder, 'test/agents/draws-screen.mjs')]);
  const begun = startOf(session.pid);
  const person = await sitDown(instance, ['attach', session.workKey, '--write']);
  await person.sees('Draws 100x27');
  person.type('abc');
  await person.sees('keys: 3');
  await instance.kill();
  person.type('de');
  expect(isAlive(session.pid)).toBe(true);
  await person.sees('the server is away');
  await instance.up();
  await person.sees('keys: 5');
  person.type('f');
  await person.sees('keys: 6');
  person.resize(80, 20);
  await person.sees('Draws 80x19');
  person.type('\u001D');
  expect(await person.ended).toBe(0);
  const { items } = await instance.get('/api/sessions?limit=200');
  expect(items.find((one: { id: string }) => one.id === session.id)).toMatchObject({
    state: 'RUNNING',
    pid: session.pid,
    generation: 1,
  });
  expect(startOf(session.pid)).toBe(begun);
}, 120_000);

test('the process that keeps the terminal killed with -9 is a crash within a second, and nothing of the program is left', async () => {
  const session = await start('crasher', [node, join(packageFolder, 'test/agents/draws-screen.mjs'), 'stubborn']);
  const watching = await sitDown(instance, ['attach', session.workKey]);
  await watching.sees('keys: 0');
  const all = [session.pid, ...descendants(session.pid)];
  const host = all.find((pid) => commandOf(pid).startsWith('chantier-pty'))!;
  const program = all.find((pid) => /^\S*node\0[^\0]*draws-screen/.test(commandOf(pid)))!;
  expect([isAlive(host), isAlive(program)]).toEqual([true, true]);
  const killedAt = performance.now();
  process.kill(host, 'SIGKILL');
  await instance.until(
    'the crash',
    async () => (await instance.get(`/api/sessions/${session.id}`)).state === 'CRASHED',
  );
  expect(performance.now() - killedAt).toBeLessThan(3_000);
  await instance.until('the program to be gone', async () => !isAlive(program));
  watching.type('q');
  await watching.ended;
}, 120_000);

test('12 MB of output are in the journal to the last byte; the screen at its end is read from near there and is the same', async () => {
  const script =
    'yes "0123456789 🦄 abcdefghijklmnopqrstuvwxyz" 2>/dev/null | head -c 12000000; printf "\\nlast line\\n"; sleep 600';
  const session = await start('flooder', ['/bin/sh', '-c', script]);
  const shown = await instance.until(
    'the last line',
    async () => {
      const { json } = await instance.must(['attach', session.workKey]);
      return json.lines.includes('last line') && json;
    },
    90_000,
  );
  const journal = readFileSync(join(instance.home, 'sessions', session.id, '1', 'out.ndjson'), 'utf8');
  const screen = await openScreen({ cols: 80, rows: 24 });
  let bytes = 0;
  for (const line of journal.split('\n')) {
    const frame = parseTerminalFrame(line);
    if (frame?.pty !== 'out' && frame?.pty !== 'started') continue;
    if (frame.pty === 'out') bytes += Buffer.byteLength(frame.text.replaceAll('\r', ''));
    await screen.apply(frame);
  }
  expect(bytes).toBe(12_000_000 + '\nlast line\n'.length);
  expect(shown.lines).toEqual(screen.view().text);
  const page = await instance.get(`/api/sessions/${session.id}/terminal`);
  expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(1_500_000);
}, 180_000);

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
}
