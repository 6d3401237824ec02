import { globSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';

/** Pids of the wrappers of all generations, from their files. */
export function wrappersOf(home: string): number[] {
  const root = join(home, 'sessions');
  return globSync('*/*/pid', { cwd: root }).map((file) => readWrapper(join(root, file)));
}

/** Pid of the wrapper of a session's first generation. */
export function wrapperOf(home: string, sessionId: string): number {
  return readWrapper(join(home, 'sessions', sessionId, '1/pid'));
}

/** A process and all its descendants. */
export function below(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(/\s+/).filter(Boolean);
  return [pid, ...children.flatMap((child) => below(Number(child)))];
}

/** Agents and their tools run on Node here; helpers do not. */
export function isNode(pid: number): boolean {
  return readlinkSync(`/proc/${pid}/exe`).endsWith('/node');
}

function readWrapper(file: string): number {
  return (JSON.parse(readFileSync(file, 'utf8')) as { wrapper: { pid: number } }).wrapper.pid;
}
