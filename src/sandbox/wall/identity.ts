import { readFileSync } from 'node:fs';

/** Names one process for good: a pid alone may belong to another after a while or after a reboot. */
export interface ProcessIdentity {
  pid: number;
  /** Clock ticks since boot; empty where the system has no /proc. */
  startTime: string;
  bootId: string;
}

/** The identity of a living process; `undefined` when there is none with this pid. */
export function identityOf(pid: number): ProcessIdentity | undefined {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return undefined;
  }
  const stat = readText(`/proc/${pid}/stat`);
  // The name in parentheses may hold spaces; a zombie (Z) has ended.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  if (fields[0] === 'Z') return undefined;
  return { pid, startTime: fields[19] ?? '', bootId: readText('/proc/sys/kernel/random/boot_id').trim() };
}

/** Whether the process that `identity` named still lives. */
export function isAlive(identity: ProcessIdentity): boolean {
  const found = identityOf(identity.pid);
  return found !== undefined && found.startTime === identity.startTime && found.bootId === identity.bootId;
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}
