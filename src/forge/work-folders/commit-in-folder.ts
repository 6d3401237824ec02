import { join } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import { runInSandbox } from '../../sandbox/index.ts';
import type { GitIdentity } from '../git/index.ts';
import type { ForgeRepository } from '../repository.ts';
import { type InSandbox, type WorkFolder, workFolderEnvironment, workFolderProfile } from './work-folder.ts';

/**
 * Commits everything that is there, inside the sandbox as every command in a clone; hooks do not run, and the message comes by
 * stdin. Refuses `commit_failed` with git's own words.
 */
export async function commitInFolder(
  repository: Pick<ForgeRepository, 'forgeDir'> & { name?: string },
  folder: WorkFolder,
  inside: InSandbox,
  commit: { identity: GitIdentity; message: string },
): Promise<Result<undefined>> {
  const env = workFolderEnvironment(folder, { inside, identity: commit.identity });
  const script =
    'git add -A && exec git -c core.hooksPath=/dev/null -c commit.gpgSign=false commit --quiet --cleanup=whitespace -F -';
  const outcome = await runInSandbox(
    inside.sandbox,
    workFolderProfile('setup', repository, folder, { inside, env }),
    ['/bin/sh', '-c', script],
    {
      timeoutMs: 60_000,
      maxOutputBytes: 64 * 1024,
      outputPath: join(folder.root, 'commit.log'),
      input: commit.message,
    },
  );
  if (outcome.exitCode === 0) return ok();
  return refuse(
    'wrong-state',
    'commit_failed',
    `git could not commit in ${folder.clone}: ${outcome.outputTail.trim().slice(0, 300)}. Commit there by hand.`,
  );
}
