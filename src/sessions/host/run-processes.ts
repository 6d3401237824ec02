import { readFileSync } from 'node:fs';

import { runMarkerName } from '../../sandbox/index.ts';
import { readProcessTable } from './process-identity.ts';
import type { ProcessIdentity, ProcessRow } from './process-identity.ts';

/**
 * Every living process that belongs to `run`: those that carry its environment marker (children that made a session of
 * their own included), and descendants of `roots` and members of their process groups (those that cleared their
 * environment). Source: decision 5, "Defects and traps" 4.
 */
export function findRunProcesses(run: string, roots: readonly ProcessIdentity[] = []): ProcessRow[] {
  const table = readProcessTable();
  const found = new Set<ProcessRow>();
  const marker = `${runMarkerName}=${run}`;
  for (const row of table) if (row.pid !== process.pid && hasMarker(row.pid, marker)) found.add(row);
  for (const root of roots) {
    const row = table.find((each) => each.pid === root.pid && each.startTime === root.startTime);
    if (row) found.add(row);
  }
  const groups = new Set([...found].map((row) => row.group));
  groups.delete(ownGroup(table));
  for (const row of table) if (groups.has(row.group)) found.add(row);
  return withDescendants(table, found);
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

function hasMarker(pid: number, marker: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'latin1').split('\0').includes(marker);
  } catch {
    return false;
  }
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
