import { readProcess } from '../host/index.ts';

/**
 * What tells one process from a later one with the same pid, and from itself after its parent has gone: start time and parent.
 * The tool server of a closed agent lives on as a child of init and would poll for ever; with another parent it counts as gone
 * (claude-peers-mcp issue 81 and pull request 69). `undefined`: no such process. Null: this system does not tell.
 */
export function processMark(pid: number): string | null | undefined {
  if (process.platform !== 'linux') return isThere(pid) ? null : undefined;
  try {
    const row = readProcess(pid);
    return row === undefined || row.state === 'Z' || row.state === 'X' ? undefined : `${row.startTime}:${row.parent}`;
  } catch {
    // A look that failed proves nothing (case 3).
    return null;
  }
}

/** Whether the process that had `mark` is known to have gone, or to have lost the agent that started it. */
export function hasGone(pid: number, mark: string | null): boolean {
  const now = processMark(pid);
  return now === undefined || (now !== null && mark !== null && now !== mark);
}

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}
