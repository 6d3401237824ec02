import { closeSync, openSync, readdirSync, readFileSync, readSync } from 'node:fs';

import { Fault } from '../../kernel/index.ts';

/** One process for good: a pid alone may be given to another process later. */
export interface ProcessIdentity {
  pid: number;
  /** Field 22 of `/proc/<pid>/stat`: clock ticks after boot. */
  startTime: number;
}

/** A row of the process table. */
export interface ProcessRow extends ProcessIdentity {
  parent: number;
  group: number;
  /** One letter of `/proc/<pid>/stat`; `Z` and `X` are dead already. */
  state: string;
}

/** The row of `pid`, or `undefined` when there is no such process. A probe that fails throws: it proves no death (case 3). */
export function readProcess(pid: number): ProcessRow | undefined {
  let stat: string;
  try {
    stat = readStat(pid);
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ESRCH') return undefined;
    throw new Fault('process_unreadable', `process ${pid} could not be looked at`, { retryable: true, cause });
  }
  // The name stands in parentheses and may hold anything, spaces and parentheses included.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return {
    pid,
    state: fields[0] ?? 'X',
    parent: Number(fields[1]),
    group: Number(fields[2]),
    startTime: Number(fields[19]),
  };
}

/** One line of well under 4 KiB. */
const statBuffer = Buffer.alloc(4096);

/**
 * Read into a buffer that stays: each living agent is looked at some times a second, and `readFileSync` takes 64 KiB anew for
 * each file of `/proc`, whose size it cannot know (half of what a server with a hundred resting sessions cost).
 */
function readStat(pid: number): string {
  const file = openSync(`/proc/${pid}/stat`, 'r');
  try {
    return statBuffer.toString('latin1', 0, readSync(file, statBuffer, 0, statBuffer.length, 0));
  } finally {
    closeSync(file);
  }
}

/** Whether exactly this process still runs; a zombie does not. */
export function isAlive(identity: ProcessIdentity): boolean {
  const row = readProcess(identity.pid);
  return row !== undefined && row.startTime === identity.startTime && !isDead(row);
}

/** Sends `signal` if exactly this process still runs; answers whether it did. */
export function signalProcess(identity: ProcessIdentity, signal: NodeJS.Signals): boolean {
  if (!isAlive(identity)) return false;
  try {
    process.kill(identity.pid, signal);
    return true;
  } catch {
    return false;
  }
}

/** All living processes of the machine that this user can see. */
export function readProcessTable(): ProcessRow[] {
  const rows: ProcessRow[] = [];
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid)) continue;
    const row = readProcess(pid);
    if (row && !isDead(row)) rows.push(row);
  }
  return rows;
}

let knownBootId: string | undefined;

/** The machine's boot id; changes with every start of the machine. */
export function bootId(): string {
  knownBootId ??= readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
  return knownBootId;
}

function isDead(row: ProcessRow): boolean {
  return row.state === 'Z' || row.state === 'X';
}
