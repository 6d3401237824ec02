import { readFileSync } from 'node:fs';

import { runMarkerName } from '../../sandbox/index.ts';
import { readProcessTable } from './process-identity.ts';
import type { ProcessIdentity, ProcessRow } from './process-identity.ts';

/** How long one look at the process table serves everybody who asks (ms): many sessions are stopped at once. */
const tableMaxAgeMs = 25;

/** All processes at one moment, and the run that each belongs to by its marker. */
interface RunTable {
  takenAt: number;
  rows: ProcessRow[];
  runOf: Map<ProcessRow, string>;
}

let lastTable: RunTable | undefined;

/**
 * Every living process that belongs to `run`: those that carry its environment marker (children that made a session of
 * their own included), and descendants of `roots` and members of their process groups (those that cleared their
 * environment). Source: decision 5, "Defects and traps" 4. `isFresh` looks anew instead of at a table of up to 25 ms ago.
 */
export function findRunProcesses(
  run: string,
  roots: readonly ProcessIdentity[] = [],
  options: { isFresh?: boolean } = {},
): ProcessRow[] {
  const { rows, runOf } = readRunTable(options.isFresh ?? true);
  const found = new Set(rows.filter((row) => row.pid !== process.pid && runOf.get(row) === run));
  for (const root of roots) {
    const row = rows.find((each) => each.pid === root.pid && each.startTime === root.startTime);
    if (row) found.add(row);
  }
  const groups = new Set([...found].map((row) => row.group));
  groups.delete(ownGroup(rows));
  for (const row of rows) if (groups.has(row.group)) found.add(row);
  return withDescendants(rows, found);
}

/** The first process inside each process-id namespace below `rows`: killing it kills all inside at once. */
export function findNamespaceInits(rows: readonly ProcessRow[]): ProcessRow[] {
  return rows.filter((row) => {
    const ids = namespaceIds(row.pid);
    return ids.length > 1 && ids.at(-1) === 1;
  });
}

function withDescendants(table: readonly ProcessRow[], found: Set<ProcessRow>): ProcessRow[] {
  const pids = new Set([...found].map((row) => row.pid));
  for (let grew = true; grew;) {
    grew = false;
    for (const row of table) {
      if (pids.has(row.pid) || !pids.has(row.parent)) continue;
      pids.add(row.pid);
      found.add(row);
      grew = true;
    }
  }
  return [...found];
}

function ownGroup(table: readonly ProcessRow[]): number {
  return table.find((row) => row.pid === process.pid)?.group ?? -1;
}

function readRunTable(isFresh: boolean): RunTable {
  const now = performance.now();
  if (!isFresh && lastTable && now - lastTable.takenAt < tableMaxAgeMs) return lastTable;
  const rows = readProcessTable();
  const runOf = new Map<ProcessRow, string>();
  for (const row of rows) {
    const run = readRun(row.pid);
    if (run !== undefined) runOf.set(row, run);
  }
  lastTable = { takenAt: performance.now(), rows, runOf };
  return lastTable;
}

const markerStart = `${runMarkerName}=`;

function readRun(pid: number): string | undefined {
  let environment: string;
  try {
    environment = readFileSync(`/proc/${pid}/environ`, 'latin1');
  } catch {
    return undefined;
  }
  if (!environment.includes(markerStart)) return undefined;
  const entry = environment.split('\0').find((each) => each.startsWith(markerStart));
  return entry?.slice(markerStart.length);
}

/** The process's ids in every namespace from ours inwards; one entry outside any sandbox. */
function namespaceIds(pid: number): number[] {
  try {
    const line = /^NSpid:\s+(.+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1] ?? '';
    return line.split(/\s+/).map(Number);
  } catch {
    return [];
  }
}
