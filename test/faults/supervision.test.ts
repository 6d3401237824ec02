import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';

import { expect, it, onTestFinished } from 'vitest';

import { findRunProcesses, isAlive, type ProcessIdentity, runMarker } from '../../src/sessions/host/index.ts';
import type { AppContext } from '../../src/app/index.ts';
import { findInvariantFaults } from '../../src/app/instance/invariants.ts';
import { openSqlite, type Store, verifyStore } from '../../src/store/index.ts';

const sessions = 20;
const rounds = process.env.CHANTIER_TEST_FULL === '1' ? 1_000 : 20;
const victims = ['agent', 'wrapper', 'feeder', 'appender', 'ring', 'none'];
const program = join(import.meta.dirname, 'crew-server.ts');

/** A small generator of its own, so that a printed seed repeats the same kills. */
function createRandom(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function startServer(
  folder: string,
  mode: string,
): { server: ChildProcessByStdio<null, Readable, null>; next: () => Promise<string> } {
  const server = spawn(process.execPath, [program, folder, String(sessions), mode], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const words = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
  return { server, next: async () => String((await words.next()).value) };
}

/**
 * The parts of living generations by their name, from the files that the wrappers wrote. A killed wrapper leaves a file of
 * processes that are gone, and their numbers may be others' by now: only what is the same process counts.
 */
function partsOf(folder: string, part: string): number[] {
  const root = join(folder, 'sessions');
  return readdirSync(root).flatMap((id) =>
    readdirSync(join(root, id)).flatMap((generation) => {
      try {
        const record = JSON.parse(readFileSync(join(root, id, generation, 'pid'), 'utf8')) as Record<
          string,
          ProcessIdentity
        >;
        return record[part] && isAlive(record[part]) ? [record[part].pid] : [];
      } catch {
        return [];
      }
    }),
  );
}

function killQuietly(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // It has ended by itself.
  }
}

/** How often the agents of each generation said each answer. */
function answersHeard(folder: string): Map<string, number> {
  const heard = new Map<string, number>();
  const root = join(folder, 'sessions');
  for (const id of readdirSync(root))
    for (const generation of readdirSync(join(root, id)).filter((name) => /^\d+$/.test(name)))
      for (const line of readFileSync(join(root, id, generation, 'out.ndjson'), 'utf8').split('\n'))
        for (const [, answer = ''] of line.matchAll(/accept: \{[^}]*answer-(esc-[a-z0-9]+)/g))
          heard.set(answer, (heard.get(answer) ?? 0) + 1);
  return heard;
}

/** Questions that wait for their human while no server runs. */
async function countOpen(folder: string): Promise<number> {
  const store = await openSqlite(join(folder, 'chantier.db'));
  const open = await store.read.selectFrom('escalation').select('id').where('status', '=', 'OPEN').execute();
  await store.close();
  return open.length;
}

async function checkInvariants(
  folder: string,
  store: Store,
): Promise<{ questions: number; delivered: number; crashed: number }> {
  const rows = await store.read.selectFrom('session').selectAll().execute();
  for (const row of rows) {
    expect(['DONE', 'ABORTED', 'CRASHED', 'START_FAILED'], row.id).toContain(row.state);
    expect(row.process, row.id).toBe('ended');
    for (let generation = 1; generation <= row.generation; generation += 1)
      expect(findRunProcesses(runMarker(row.id, generation)), row.id).toEqual([]);
  }
  const heard = answersHeard(folder);
  const questions = await store.read.selectFrom('escalation').selectAll().execute();
  const states = new Map(rows.map((row) => [row.id, row.state]));
  for (const question of questions) {
    expect(question.status, question.id).not.toBe('OPEN');
    expect(question.delivery, question.id).not.toBe('pending');
    const times = heard.get(question.id) ?? 0;
    expect(times, `${question.id} was heard ${times} times`).toBeLessThanOrEqual(1);
    if (question.delivery === 'delivered' && states.get(question.session_id) !== 'CRASHED')
      expect(times, `${question.id} (${question.session_id}) never reached its agent`).toBe(1);
  }
  const open = await store.read.selectFrom('decision_request').selectAll().where('state', '=', 'open').execute();
  expect(open).toEqual([]);
  expect(await findInvariantFaults({ store } as AppContext)).toEqual([]);
  expect((await verifyStore(store)).ok).toBe(true);
  return {
    questions: questions.length,
    delivered: questions.filter((each) => each.delivery === 'delivered').length,
    crashed: rows.filter((row) => row.state === 'CRASHED' || row.state === 'START_FAILED').length,
  };
}

it(
  `kill -9 of server, agents, wrappers, feeders and appenders at random under ${sessions} sessions with open questions, ${rounds} rounds: no question lost or answered twice, no orphan, doctor --deep clean (sessions decision 6, sessions cases 65 and 75)`,
  async () => {
    const seed = Number(process.env.CHANTIER_TEST_SEED ?? Date.now() % 1_000_000);
    const random = createRandom(seed);
    const folder = mkdtempSync(join(tmpdir(), 'chantier-crew-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    let openAtKill = 0;
    for (let round = 0; round < rounds; round += 1) {
      const { server, next } = startServer(folder, 'work');
      onTestFinished(() => void server.kill('SIGKILL'));
      if (round % 4 !== 3) await next();
      await new Promise((resolve) => setTimeout(resolve, 300 + random(1_500)));
      const part = victims[random(victims.length)] ?? 'none';
      if (part !== 'none') {
        const pids = partsOf(folder, part);
        const victim = pids[random(Math.max(1, pids.length))];
        if (victim !== undefined) killQuietly(victim);
        await new Promise((resolve) => setTimeout(resolve, random(200)));
      }
      const ended = new Promise((resolve) => server.once('exit', resolve));
      server.kill('SIGKILL');
      await ended;
      openAtKill += await countOpen(folder);
    }
    const { server, next } = startServer(folder, 'drain');
    const ended = new Promise((resolve) => server.once('exit', resolve));
    expect(await next()).toBe('ready');
    const stopped = JSON.parse(await next()) as { isGone: boolean }[];
    expect(stopped.every((each) => each.isGone)).toBe(true);
    await ended;
    const store = await openSqlite(join(folder, 'chantier.db'));
    onTestFinished(() => store.close());
    const figures = { ...(await checkInvariants(folder, store)), openAtKill };
    console.log(`seed ${seed}: ${JSON.stringify({ rounds, ...figures })}`);
    expect(figures.delivered).toBeGreaterThan(rounds);
    expect(figures.openAtKill).toBeGreaterThan(rounds);
  },
  rounds * 30_000,
);
