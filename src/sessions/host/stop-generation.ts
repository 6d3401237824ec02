import { setTimeout as sleep } from 'node:timers/promises';

import type { ProcessRecord } from './generation-files.ts';
import type { Generation } from './generation.ts';
import { isAlive, signalProcess } from './process-identity.ts';
import type { ProcessIdentity, ProcessRow } from './process-identity.ts';
import { findNamespaceInits, findRunProcesses } from './run-processes.ts';

/** How long each step of a stop may take (ms). Together they bound `stop --all` (5 s, design section 7). */
export interface StopOptions {
  /** After the end of its stdin. Default 1000. */
  endOfInputGraceMs?: number;
  /** After SIGTERM. Default 1500. */
  termGraceMs?: number;
  /** After SIGKILL, for the processes to be gone. Default 1000. */
  killGraceMs?: number;
}

/** What a stop did. */
export interface StopReport {
  /** The step that ended the agent. */
  endedBy: 'already' | 'end-of-input' | 'terminate' | 'kill';
  /** Processes of the run that had outlived the agent and were ended by the sweep. */
  swept: number;
  /** Processes that could not be ended; empty unless the kernel holds them. */
  survivors: number[];
  durationMs: number;
}

const pollMs = 10;
/** How long the feeder may take to hand on what was appended before the stop. */
const feedGraceMs = 200;
/** How long the processes that fall with their sandbox or their parent may take to be gone. */
const fallGraceMs = 50;
/** How long swept processes have between SIGTERM and SIGKILL. */
const sweepTermGraceMs = 300;
/** How long the wrapper and the appender have to store the last output and the status. */
const companionGraceMs = 500;

/**
 * Latch → end of input → SIGTERM → SIGKILL → sweep by marker (decision 5, X-15). Cancelling the turn and answering open
 * requests comes before it and is the driver's part.
 */
export async function stopGeneration(generation: Generation, options: StopOptions): Promise<StopReport> {
  const startedAt = performance.now();
  const { endOfInputGraceMs = 1000, termGraceMs = 1500, killGraceMs = 1000 } = options;
  const seen = new Map<number, ProcessIdentity>();
  const find = (isFresh = false): ProcessRow[] => findProcesses(generation, seen, isFresh);
  find(true);
  const record = await handOverInput(generation);
  generation.setLatch();
  const agent = record?.agent;
  const hasEnded = (withinMs: number): Promise<boolean> => waitUntil(() => !agent || !isAlive(agent), withinMs);

  let endedBy: StopReport['endedBy'] = 'already';
  if (!(await hasEnded(0))) {
    endedBy = 'end-of-input';
    if (record) signalProcess(record.feeder, 'SIGTERM');
    if (!(await hasEnded(endOfInputGraceMs))) {
      endedBy = 'terminate';
      for (const target of pickTermTargets(find(), record)) signalProcess(target, 'SIGTERM');
      if (!(await hasEnded(termGraceMs))) {
        endedBy = 'kill';
        killAgent(find(), record);
        await hasEnded(killGraceMs);
      }
    }
  }
  const swept = await sweep(find, record, killGraceMs);
  const survivors = find(true).map((row) => row.pid);
  return { endedBy, swept, survivors, durationMs: performance.now() - startedAt };
}

/** What was appended before the stop (a cancel, answers) still reaches the agent. */
async function handOverInput(generation: Generation): Promise<ProcessRecord | undefined> {
  const record = generation.record();
  const end = generation.inboxSize();
  if (record) await waitUntil(() => generation.hasFed(end) !== false, feedGraceMs);
  return record;
}

/** Outside a sandbox the agent's process group; inside one the agent itself, since the sandbox passes no signal on. */
function pickTermTargets(rows: readonly ProcessRow[], record: ProcessRecord | undefined): ProcessRow[] {
  const inits = new Set(findNamespaceInits(rows).map((row) => row.pid));
  if (inits.size > 0) return rows.filter((row) => inits.has(row.parent));
  return withoutCompanions(rows, record).filter((row) => row.group === record?.wrapper.pid);
}

function killAgent(rows: readonly ProcessRow[], record: ProcessRecord | undefined): void {
  for (const init of findNamespaceInits(rows)) signalProcess(init, 'SIGKILL');
  for (const row of withoutCompanions(rows, record)) signalProcess(row, 'SIGKILL');
}

/** Ends what outlived the agent, then lets the companions finish, then ends them too. Answers how many were swept. */
async function sweep(
  find: (isFresh?: boolean) => ProcessRow[],
  record: ProcessRecord | undefined,
  killGraceMs: number,
): Promise<number> {
  const left = (isFresh = false): ProcessRow[] => withoutCompanions(find(isFresh), record);
  await waitUntil(() => left().length === 0, fallGraceMs);
  const first = left(true);
  if (first.length > 0) {
    for (const row of first) signalProcess(row, 'SIGTERM');
    await waitUntil(() => first.every((row) => !isAlive(row)), sweepTermGraceMs);
    await waitUntil(() => {
      const rows = left();
      for (const row of rows) signalProcess(row, 'SIGKILL');
      return rows.length === 0;
    }, killGraceMs);
  }
  await waitUntil(() => find().length === 0, companionGraceMs, 25);
  await waitUntil(() => {
    const rows = find(true);
    for (const row of rows) signalProcess(row, 'SIGKILL');
    return rows.length === 0;
  }, killGraceMs);
  return first.length;
}

/** Everything of the run: what carries the marker now, and what was seen below it before and still lives. */
function findProcesses(generation: Generation, seen: Map<number, ProcessIdentity>, isFresh: boolean): ProcessRow[] {
  const record = generation.record();
  const roots = record ? [record.wrapper, record.agent, record.feeder, record.appender, record.ring] : [];
  const rows = findRunProcesses(generation.run, [...roots, ...seen.values()], { isFresh });
  for (const row of rows) seen.set(row.pid, row);
  return rows;
}

function withoutCompanions(rows: readonly ProcessRow[], record: ProcessRecord | undefined): ProcessRow[] {
  if (!record) return [...rows];
  const companions = new Set([record.wrapper.pid, record.feeder.pid, record.appender.pid, record.ring.pid]);
  // Their children (the ring's `dd`, the wrapper's `mv`) are companions too; the agent is the wrapper's child and is not.
  return rows.filter(
    (row) => !companions.has(row.pid) && (row.pid === record.agent.pid || !companions.has(row.parent)),
  );
}

async function waitUntil(isTrue: () => boolean, withinMs: number, everyMs = pollMs): Promise<boolean> {
  const deadline = performance.now() + withinMs;
  while (!isTrue()) {
    if (performance.now() >= deadline) return false;
    await sleep(everyMs);
  }
  return true;
}
