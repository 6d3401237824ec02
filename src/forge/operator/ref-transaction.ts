import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

import { Fault } from '../../kernel/index.ts';
import { type Git, gitCommand } from '../git/index.ts';

/** A ref that is locked at its old value and waits to be moved. */
export interface RefTransaction {
  /** Moves the ref and ends. Throws `Fault` when git did not do it. */
  commit(): Promise<void>;
  /** Leaves the ref as it was and ends; safe after `commit`. */
  abort(): Promise<void>;
}

/**
 * Locks `ref` at `old` (compare) and holds the lock until `commit` (set) or `abort`; should this process die, git sees the
 * end of its input and lets go. `undefined` when the ref is elsewhere or locked.
 */
export async function openRefTransaction(
  git: Git,
  gitDir: string,
  change: { ref: string; to: string; old: string; message: string; umask: string },
): Promise<RefTransaction | undefined> {
  const { program, argv, env } = gitCommand(git, { gitDir }, ['update-ref', '-m', change.message, '--stdin'], {
    umask: change.umask,
  });
  const child = spawn(program, argv, { cwd: '/', env, stdio: ['pipe', 'pipe', 'pipe'] });
  const exited = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  child.stdin.on('error', () => {});
  const answers = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const say = async (line: string): Promise<boolean> => {
    child.stdin.write(`${line}\n`);
    const answer = await answers.next();
    return !answer.done && answer.value.endsWith(': ok');
  };
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString('utf8').slice(0, 1000)));
  const end = async (): Promise<number | null> => {
    child.stdin.end();
    return exited;
  };
  await say('start');
  child.stdin.write(`update ${change.ref} ${change.to} ${change.old}\n`);
  if (!(await say('prepare'))) {
    await end();
    return undefined;
  }
  return {
    async commit() {
      const done = await say('commit');
      const code = await end();
      if (!done || code !== 0)
        throw new Fault('ref_not_moved', `git could not move ${change.ref}: ${errors.trim()}`, { retryable: true });
    },
    async abort() {
      if (!child.stdin.writableEnded) await say('abort');
      await end();
    },
  };
}
