import { readFileSync, renameSync, writeFileSync } from 'node:fs';

import type { DenialReason } from './rules.ts';

/** What one session was refused, and how often; shown by `status`. */
export interface WallDenial {
  sessionId: string;
  /** As the agent named it, cut and made printable. */
  host: string;
  port: number;
  reason: DenialReason;
  count: number;
  /** Epoch ms. */
  firstAt: number;
  lastAt: number;
}

/** Different targets kept for one session; more are counted as `(others)`. */
const maxTargets = 200;
/** Rows kept in all, the oldest leave first. */
const maxRows = 5_000;

/** Counts denials in memory and keeps them in a file that a restarted wall goes on with. */
export interface DenialLog {
  record(sessionId: string, target: { host: string; port: number }, reason: DenialReason): void;
  /** Writes now what is not yet written. */
  flush(): void;
}

/** The counts in `path`; none when it is missing or torn. */
export function readDenials(path: string): WallDenial[] {
  try {
    const parsed: unknown = JSON.parse(readFileSync(path, 'utf8'));
    return Array.isArray(parsed) ? (parsed as WallDenial[]) : [];
  } catch {
    return [];
  }
}

/** Opens the log kept in `path`; written at most each 200 ms. */
export function openDenialLog(path: string, now: () => number = Date.now): DenialLog {
  const rows = new Map(readDenials(path).map((row) => [keyOf(row), row]));
  let timer: NodeJS.Timeout | undefined;
  const flush = (): void => {
    clearTimeout(timer);
    timer = undefined;
    const newest = [...rows.values()].toSorted((a, b) => b.lastAt - a.lastAt).slice(0, maxRows);
    writeFileSync(`${path}.new`, JSON.stringify(newest), { mode: 0o600 });
    renameSync(`${path}.new`, path);
  };
  return {
    record(sessionId, target, reason) {
      const own = { sessionId, host: printable(target.host), port: target.port, reason };
      const full = !rows.has(keyOf(own)) && countOf(rows, sessionId) >= maxTargets;
      const row = full ? { ...own, host: '(others)', port: 0 } : own;
      const before = rows.get(keyOf(row));
      rows.set(keyOf(row), {
        ...row,
        count: (before?.count ?? 0) + 1,
        firstAt: before?.firstAt ?? now(),
        lastAt: now(),
      });
      timer ??= setTimeout(flush, 200);
    },
    flush() {
      if (timer) flush();
    },
  };
}

function keyOf({ sessionId, host, port, reason }: Pick<WallDenial, 'sessionId' | 'host' | 'port' | 'reason'>): string {
  return `${sessionId} ${host} ${port} ${reason}`;
}

function countOf(rows: ReadonlyMap<string, WallDenial>, sessionId: string): number {
  let count = 0;
  for (const row of rows.values()) if (row.sessionId === sessionId) count += 1;
  return count;
}

function printable(host: string): string {
  return host.replace(/[^\x21-\x7e]/g, '?').slice(0, 255);
}
