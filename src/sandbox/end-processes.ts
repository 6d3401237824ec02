import { readdirSync, readFileSync } from 'node:fs';

/** The variable that every process of a run carries, so that what outlives its parent is still found (S-, decision 5). */
export const runMarkerName = 'CHANTIER_RUN';

/**
 * The pids, seen from outside, of what runs inside the sandbox whose outermost process is `outerPid`: first pid 1 of the
 * sandbox, then the command itself. Empty without a namespace of its own or when the tree is gone. SIGTERM to the outermost
 * bubblewrap is not passed on, so the command is told by its own pid.
 */
export function insidePids(outerPid: number): { init: number; command: number } | undefined {
  const init = childrenOf(outerPid)[0];
  if (init === undefined || !isNamespaceInit(init)) return undefined;
  const command = childrenOf(init)[0];
  return command === undefined ? undefined : { init, command };
}

/** Asks the command behind `outerPid` to end: the one inside a sandbox, else the process group. */
export function askToEnd(outerPid: number): void {
  const inside = insidePids(outerPid);
  if (inside) signal(inside.command, 'SIGTERM');
  else signal(-outerPid, 'SIGTERM');
}

/** Ends everything behind `outerPid` at once: pid 1 of the sandbox, which takes all inside with it, then the process group. */
export function killTree(outerPid: number): void {
  const inside = insidePids(outerPid);
  if (inside) signal(inside.init, 'SIGKILL');
  signal(-outerPid, 'SIGKILL');
  signal(outerPid, 'SIGKILL');
}

/** Pids of living processes that carry `runId` in their environment. Reads what this user may read; Linux only. */
export function findByRunMarker(runId: string): number[] {
  const marker = `${runMarkerName}=${runId}`;
  return numbersIn('/proc').filter((pid) => pid !== process.pid && readEnvironment(pid).includes(marker));
}

/** Kills what still carries `runId` and returns how many there were: 0 wherever a sandbox holds (X-15: then only a check). */
export function sweepRun(runId: string): number {
  const survivors = findByRunMarker(runId);
  for (const pid of survivors) signal(pid, 'SIGKILL');
  return survivors.length;
}

function childrenOf(pid: number): number[] {
  return readText(`/proc/${pid}/task/${pid}/children`).trim().split(/\s+/).filter(Boolean).map(Number);
}

/** Whether `pid` is pid 1 of a pid namespace of its own. */
function isNamespaceInit(pid: number): boolean {
  const numbers =
    /^NSpid:\s*(.*)$/m
      .exec(readText(`/proc/${pid}/status`))?.[1]
      ?.trim()
      .split(/\s+/) ?? [];
  return numbers.length > 1 && numbers.at(-1) === '1';
}

function readEnvironment(pid: number): string[] {
  return readText(`/proc/${pid}/environ`).split('\0');
}

function numbersIn(folder: string): number[] {
  try {
    return readdirSync(folder).map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** A process that is gone already has ended, which is what was wanted. */
function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}
