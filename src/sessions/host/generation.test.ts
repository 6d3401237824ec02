import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeAgent, plainCommand, survivorsOf } from '../../../test/agents/agent-world.ts';
import { isRefused, manualClock, mustOk } from '../../kernel/index.ts';
import { openGeneration, startGeneration } from './index.ts';
import type { Generation } from './index.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

/** Waits, woken by the folder itself, until `isTrue`. */
function until(generation: Generation, isTrue: () => boolean, withinMs = 10_000): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      unwatch();
      reject(new Error('it did not come to that'));
    }, withinMs);
    const look = (): void => {
      if (!isTrue()) return;
      clearTimeout(timer);
      unwatch();
      resolve();
    };
    const unwatch = generation.watch(look);
    look();
  });
}

const lines = (path: string): string[] => readFileSync(path, 'utf8').split('\n').slice(0, -1);

test('pid and start time stand in the file before the agent does anything at all (field case 13)', async () => {
  const generation = await world.start(plainCommand(['/bin/sh', '-c', 'cat "$0"/*/1/pid; echo $$', world.folder]));
  await until(generation, () => lines(generation.files.journal).length === 2);
  const [record = '', own] = lines(generation.files.journal);
  expect(JSON.parse(record)).toEqual(generation.record());
  expect(generation.record()!.agent).toMatchObject({ pid: Number(own), startTime: expect.any(Number) });
});

test('starts an agent with exactly the given environment, umask 077 and no descriptor of the server (design 4)', async () => {
  const generation = await world.start(fakeAgent('prints-lines', { ONLY: "it's this" }));
  await until(generation, () => generation.journalSize() > 0);
  const found = JSON.parse(lines(generation.files.journal)[0]!) as {
    env: Record<string, string>;
    umask: number;
    fds: number[];
    cwd: string;
  };
  const { PWD: _, ...env } = found.env;
  expect(env).toEqual({ PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', ONLY: "it's this", CHANTIER_RUN: generation.run });
  expect(found.umask).toBe(0o077);
  expect(found.cwd).toBe(tmpdir());
  expect(statSync(generation.files.folder).mode & 0o777).toBe(0o700);
  expect(readdirSync(generation.files.folder)).not.toContain('stdin');
});

test('feeds lines to stdin and ends it with the feeder; status, journal and stderr are kept', async () => {
  const generation = await world.start(fakeAgent('prints-lines'));
  mustOk(await generation.append('{"a":1}'));
  await until(generation, () => lines(generation.files.journal).includes('read {"a":1}'));
  const state = generation.look();
  expect(state.phase).toBe('running');
  process.kill(generation.record()!.feeder.pid);
  await until(generation, () => generation.look().phase === 'ended');
  expect(generation.look()).toEqual({ phase: 'ended', cause: 'exit-status', code: 0 });
  expect(await generation.stderrTail()).toBe('to stderr\n');
  await until(generation, () => survivorsOf(generation).length === 0);
});

test('opens the files that the sandbox asked for and closes every other descriptor', async () => {
  const path = join(world.folder, "it's a filter");
  writeFileSync(path, 'filter');
  const script = 'cat <&5; for fd in 3 4 6 7 8 9; do [ -e /proc/$$/fd/$fd ] && echo "open $fd"; done; echo " done"';
  const command = { ...plainCommand(['/bin/sh', '-c', script]), openFiles: [{ fd: 5, path }] };
  const generation = await world.start(command);
  await until(generation, () => generation.look().phase === 'ended' && generation.isJournalComplete());
  expect(readFileSync(generation.files.journal, 'utf8')).toBe('filter done\n');
});

test('gives stdout as a pipe: an agent cannot reach its journal through /proc/self/fd (X-6)', async () => {
  const generation = await world.start(plainCommand(['/bin/sh', '-c', 'echo kept; : >/proc/self/fd/1']));
  await until(generation, () => generation.look().phase === 'ended' && generation.isJournalComplete());
  expect(readFileSync(generation.files.journal, 'utf8')).toMatch(/^kept\n/);
});

test('refuses to start a generation twice: the folder is the key of the effect (design 7)', async () => {
  const generation = await world.start(fakeAgent('answers'));
  const [sessionId = ''] = generation.run.split('/');
  const again = await startGeneration({
    sessionsFolder: world.folder,
    sessionId,
    generation: 1,
    command: fakeAgent('answers'),
  });
  expect(isRefused(again) && again.refusal.code).toBe('generation_exists');
});

test('names a command that is not there before anything is made', async () => {
  await expect(world.start(plainCommand(['/no/such/agent']))).rejects.toMatchObject({ code: 'command_missing' });
  await expect(world.start({ ...fakeAgent('answers'), cwd: '/no/such/folder' })).rejects.toMatchObject({
    code: 'cwd_missing',
  });
});

test('keeps the newest part of stderr only', async () => {
  const script =
    'i=0; while [ $i -lt 60000 ]; do echo "line $i of a long complaint, padded to some length" >&2; i=$((i+1)); done';
  const generation = await world.start(plainCommand(['/bin/sh', '-c', script]));
  await until(generation, () => generation.look().phase === 'ended' && survivorsOf(generation).length === 0);
  const kept = generation.files.stderr.reduce(
    (sum, part) => sum + (statSync(part, { throwIfNoEntry: false })?.size ?? 0),
    0,
  );
  expect(kept).toBeLessThanOrEqual(3 * 512 * 1024);
  expect(await generation.stderrTail(200)).toMatch(/line 59999 of a long complaint, padded to some length\n$/);
});

test('a folder without identities is START_FAILED after 5 s, and what comes later is not executed (design 7)', async () => {
  const clock = manualClock();
  const generation = await world.start(fakeAgent('answers'));
  await until(generation, () => generation.look().phase === 'running');
  const empty = join(world.folder, 'empty', '1');
  mkdirSync(empty, { recursive: true });
  writeFileSync(join(empty, 'birth.json'), JSON.stringify({ version: 1, run: 'empty/1', startedAtMs: clock.now() }));
  const opened = mustOk(await openGeneration(empty, { clock }));
  expect(opened.look()).toEqual({ phase: 'launching' });
  clock.advance(5_000);
  expect(opened.look()).toMatchObject({ phase: 'start-failed' });
  expect(opened.latch()).toBeDefined();
  const refused = await opened.append('{}');
  expect(isRefused(refused) && refused.refusal.code).toBe('generation_stopping');
  await opened.close();
});

test('whoever reads a generation that is just being launched never ends it, however its clock stands (decision 2)', async () => {
  const folder = join(world.folder, 'read', '1');
  mkdirSync(folder, { recursive: true });
  const files = { birth: join(folder, 'birth.json'), stop: join(folder, 'stop') };
  const startedAtMs = Date.parse('2026-01-01T00:00:00Z') - 3_600_000;
  writeFileSync(files.birth, JSON.stringify({ version: 1, run: 's/1', startedAtMs }));
  const reader = mustOk(await openGeneration(folder));
  expect(reader.look()).toEqual({ phase: 'launching' });
  expect(existsSync(files.stop)).toBe(false);
  const judge = mustOk(await openGeneration(folder, { clock: manualClock(startedAtMs + 6_000) }));
  expect(judge.look()).toMatchObject({ phase: 'start-failed' });
  expect(existsSync(files.stop)).toBe(true);
  await reader.close();
  await judge.close();
});

test('opening for reading changes nothing: only the writer completes a torn frame', async () => {
  const generation = await world.start(fakeAgent('answers'));
  mustOk(await generation.append('{"jsonrpc":"2.0","method":"session/cancel","params":{}}'));
  await generation.close();
  truncateSync(generation.files.inbox, 20);
  const opened = await world.reopen(generation);
  expect(readFileSync(opened.files.inbox, 'utf8')).toHaveLength(20);
  await opened.claimInbox();
  expect(readFileSync(opened.files.inbox, 'utf8')).toMatch(/"params":\{\}\}\n$/);
});

test('refuses to open a folder that is not there', async () => {
  const opened = await openGeneration(join(world.folder, 'none', '1'));
  expect(isRefused(opened) && opened.refusal.code).toBe('generation_not_found');
});

test('knows of a killed agent within 100 ms and says by which signal (decision 4)', async () => {
  const generation = await world.start(fakeAgent('answers'));
  await until(generation, () => generation.look().phase === 'running');
  const { agent } = generation.record()!;
  const killedAt = performance.now();
  process.kill(agent.pid, 'SIGKILL');
  await until(generation, () => generation.look().phase === 'ended');
  expect(performance.now() - killedAt).toBeLessThan(process.env.CI ? 1_000 : 400);
  expect(generation.look()).toEqual({ phase: 'ended', cause: 'exit-status', code: 137 });
});

test('knows of an agent that was killed with its wrapper, which leaves no status (X-15)', async () => {
  const generation = await world.start(fakeAgent('answers'));
  await until(generation, () => generation.look().phase === 'running');
  const { wrapper, agent } = generation.record()!;
  process.kill(wrapper.pid, 'SIGKILL');
  process.kill(agent.pid, 'SIGKILL');
  await until(generation, () => generation.look().phase === 'ended');
  expect(generation.look()).toEqual({ phase: 'ended', cause: 'gone' });
  const report = await generation.stop();
  expect(report).toMatchObject({ endedBy: 'already', survivors: [] });
  expect(survivorsOf(generation)).toEqual([]);
});

test('a pid of an earlier start of the machine is dead, whoever has it now', async () => {
  const generation = await world.start(fakeAgent('answers'));
  await until(generation, () => generation.look().phase === 'running');
  const record = generation.record()!;
  const folder = join(world.folder, 'rebooted', '1');
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'pid'), JSON.stringify({ ...record, bootId: 'another' }));
  const opened = mustOk(await openGeneration(folder));
  expect(opened.look()).toEqual({ phase: 'ended', cause: 'rebooted' });
  await opened.close();
});
