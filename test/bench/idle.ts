import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Instance } from '../e2e/instance.ts';
import { type BenchCrew, openBenchCrew } from './bench-crew.ts';
import { type Figure, figureOf } from './figure.ts';
import { below, isNode, wrappersOf } from './wrappers.ts';

/** How long the idle server is watched (ms): once over a minute it does everything that it does by itself. */
const watchedMs = 60_000;
const ticksPerSecond = 100;

interface SessionFacts {
  state: string;
  openEscalations: unknown[];
}

/** What sessions cost that rest with a question open, and how soon a server that was killed has taken them over again. */
export async function benchIdle(sessions: number): Promise<Figure[]> {
  const crew = await openBenchCrew(sessions, 1);
  const { instance } = crew;
  try {
    await crew.addTasks(sessions);
    await instance.until(
      'all sessions with a question',
      async () => (await resting(instance)) >= sessions,
      60_000 + sessions * 3_000,
    );
    await sleep(5_000); // the last turns have ended
    const note = `${sessions} sessions that wait for a human; the target is for 100`;
    const cpu = await percentOfCore(instance.server().pid!);
    const rss = [residentMib(instance.server().pid!)];
    const helpers = wrappersOf(instance.home).map(helpersMib);
    const adopted = await adoptionMs(crew, sessions);
    if ((await resting(instance)) !== sessions) throw new Error('a question was lost');
    return [
      figureOf('idle: server', [cpu], { unit: '% of a core', note, target: { at: 'p50', atMost: 3 } }),
      figureOf('idle: server memory', rss, { unit: 'MiB', note, target: { at: 'p50', atMost: 200 } }),
      figureOf('idle: helpers of a session', helpers, { unit: 'MiB', target: { at: 'p95', atMost: 8 } }),
      figureOf('server killed → all sessions adopted', [adopted], { note, target: { at: 'p50', atMost: 2_000 } }),
    ];
  } finally {
    await crew.dispose();
  }
}

/** Sessions with a question open. */
async function resting(instance: Instance): Promise<number> {
  const { items } = (await instance.get('/api/sessions?limit=200&living=true')) as { items: SessionFacts[] };
  return items.filter(({ state, openEscalations }) => state === 'ESCALATED' && openEscalations.length === 1).length;
}

async function percentOfCore(pid: number): Promise<number> {
  const before = ticksOf(pid);
  await sleep(watchedMs);
  return ((ticksOf(pid) - before) / ticksPerSecond / (watchedMs / 1_000)) * 100;
}

/** From the start of a server after `kill -9` to the last event of an adoption. */
async function adoptionMs({ instance }: BenchCrew, sessions: number): Promise<number> {
  await instance.kill();
  const startedAt = Date.now();
  await instance.up();
  const events = await instance.until('all adoptions', async () => {
    const lines = ((await instance.get('/api/audit/export')) as string).trim().split('\n');
    const all = lines.map((line) => JSON.parse(line) as { kind: string; at: number | string });
    const adoptions = all.filter(({ kind }) => kind === 'session.adopted');
    return adoptions.length >= sessions && adoptions;
  });
  return Math.max(...events.map(({ at }) => new Date(at).getTime())) - startedAt;
}

function ticksOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return Number(fields[11]) + Number(fields[12]);
}

function residentMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024;
}

/** Proportional share of memory of everything below a wrapper but the agent and its tools, which run on Node. */
function helpersMib(wrapper: number): number {
  const share = (pid: number): number =>
    isNode(pid) ? 0 : Number(/^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'))?.[1] ?? 0) / 1024;
  return below(wrapper).reduce((sum, pid) => sum + share(pid), 0);
}
