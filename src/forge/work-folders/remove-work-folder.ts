import { chmod, lstat, mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { ok, type Result } from '../../kernel/index.ts';
import { runInSandbox } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import type { ForgeRepository } from '../repository.ts';
import type { RepositoryConfig } from '../repository-config.ts';
import { resolveProgram } from './resolve-program.ts';
import { dropIncoming, saveWork } from './save-work.ts';
import {
  configuredEnvironment,
  type InSandbox,
  type WorkFolder,
  workFolderEnvironment,
  workFolderProfile,
} from './work-folder.ts';

/**
 * Removes a work folder after everything in it is safe (design section 6). Gives the rescue refs that hold what would have
 * been lost. `workspace.teardown` runs before, where set-up had ended. Repeated after a crash it goes on; a folder that is gone is no fault. Refuses what `saveWork` refuses, and then
 * removes nothing. Folders of candidates and reviewers hold no work and are removed at once.
 */
export async function removeWorkFolder(
  forge: Forge,
  repository: ForgeRepository & { config: RepositoryConfig },
  folder: WorkFolder,
  inside: InSandbox,
  options: {
    /** Leaves the private home, where the agent keeps its conversations. */
    keepHome?: boolean;
  } = {},
): Promise<Result<{ rescueRefs: string[] }>> {
  let rescueRefs: string[] = [];
  if (folder.purpose === 'author' && (await exists(folder.clone))) {
    const saved = await saveWork(forge, repository, folder, inside);
    if (!saved.ok) return saved;
    rescueRefs = saved.value.refs;
  }
  if (await exists(join(folder.root, 'prepared.json'))) await runTeardown(repository, folder, inside);
  const trash = join(forge.folders.work, `.trash-${folder.ownerKey}`);
  await removeTree(trash);
  if (options.keepHome) await moveAllButHome(folder, trash);
  else if (await exists(folder.root)) await rename(folder.root, trash);
  // Tens of thousands of files take a while; nobody waits for them. What is left after a crash goes at the next start.
  const gone = removeTree(trash).catch(() => {});
  await Promise.race([gone, sleep(2_000, undefined, { ref: false })]);
  if (await exists(repository.forgeDir)) await dropIncoming(forge, repository, folder);
  return ok({ rescueRefs });
}

/** Trusted commands that end what set-up began; run in the sandbox, their failure is no obstacle. */
/** Piece by piece, so that the home is never anywhere else; repeated after a crash it goes on. */
async function moveAllButHome(folder: WorkFolder, trash: string): Promise<void> {
  if (!(await exists(folder.root))) return;
  await mkdir(trash, { mode: 0o700 });
  for (const name of await readdir(folder.root))
    if (name !== basename(folder.home)) await rename(join(folder.root, name), join(trash, name));
}

async function runTeardown(
  repository: ForgeRepository & { config: RepositoryConfig },
  folder: WorkFolder,
  inside: InSandbox,
): Promise<void> {
  const { teardown } = repository.config.workspace;
  if (teardown.length === 0 || !(await exists(folder.clone))) return;
  const env = workFolderEnvironment(folder, {
    inside,
    env: configuredEnvironment(repository.config, folder),
    set: { CI: '1' },
  });
  const profile = workFolderProfile('setup', repository, folder, { inside, env });
  for (const argv of teardown) {
    const command = resolveProgram(folder, inside, argv);
    if (command.ok) await runInSandbox(inside.sandbox, profile, command.value, { timeoutMs: 60_000 });
  }
}

/** Removes a tree whose folders may be closed to their owner; follows no symlink. */
async function removeTree(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  } catch {
    await openFolders(path);
    await rm(path, { recursive: true, force: true, maxRetries: 2 });
  }
}

async function openFolders(path: string): Promise<void> {
  await chmod(path, 0o700).catch(() => {});
  for (const entry of await readdir(path, { withFileTypes: true }).catch(() => [])) {
    if (entry.isDirectory()) await openFolders(join(path, entry.name));
  }
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
