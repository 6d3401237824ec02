import {
  appendFile,
  chmod,
  chown,
  copyFile,
  cp,
  mkdir,
  mkdtemp,
  readdir,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { giveToOwner, type Sandbox } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import { type GitIdentity, runGit } from '../git/index.ts';
import { baseTip, objectFormatIn } from '../local/bare-repository.ts';
import { branchRef, type ForgeRepository } from '../repository.ts';
import type { RepositoryConfig } from '../repository-config.ts';
import { makeSparse, sparseSettings } from './sparse.ts';
import { excludeFile, type WorkFolder, workFolderAt } from './work-folder.ts';

/**
 * Makes a clone of its own for a session or candidate: own `.git`, objects borrowed from the forge by absolute path (nothing
 * is hard-linked, so nothing of the forge can be written through it), no hook, no template. Repeated after a crash it goes
 * on where it was; a finished folder is given back as it is. `startCommit` must be in the forge.
 */
export async function createWorkFolder(
  forge: Forge,
  repository: ForgeRepository & { config?: Pick<RepositoryConfig, 'workspace'> },
  request: {
    ownerKey: string;
    purpose: WorkFolder['purpose'];
    /** Left out = detached, as candidates are. */
    branch?: string;
    startCommit: string;
    identity: GitIdentity;
    sandbox: Pick<Sandbox, 'driver' | 'owner'>;
  },
): Promise<WorkFolder> {
  const { ownerKey, purpose, startCommit } = request;
  const folder = workFolderAt(forge, {
    ownerKey,
    purpose,
    startCommit,
    repositoryId: repository.id,
    branch: request.branch,
  });
  if (await exists(join(folder.root, 'created'))) return folder;
  await mkdir(folder.root, { recursive: true, mode: 0o700 });
  for (const path of [folder.home, folder.cache, folder.tmp]) await mkdir(path, { recursive: true, mode: 0o700 });
  // What a crash left half made; a finished clone only ever appears by its rename.
  for (const name of await readdir(folder.root))
    if (name.startsWith('new-')) await rm(join(folder.root, name), { recursive: true, force: true });
  if (!(await exists(folder.clone))) await makeClone(forge, repository, folder, request);
  await writeFile(excludeFile(folder), '', { flag: 'a', mode: 0o644 });
  await chmod(excludeFile(folder), 0o644);
  await replaceInHome(folder, '.gitconfig', privateGitConfig(repository, folder, request.identity));
  await giveTo(request.sandbox, folder);
  await letIn(request.sandbox, folder);
  await writeFile(join(folder.root, 'created'), `${startCommit}\n`);
  return folder;
}

async function makeClone(
  forge: Forge,
  repository: Parameters<typeof createWorkFolder>[1],
  folder: WorkFolder,
  { identity, sandbox }: Pick<Parameters<typeof createWorkFolder>[2], 'identity' | 'sandbox'>,
): Promise<void> {
  const fresh = await mkdtemp(join(folder.root, 'new-'));
  const gitDir = join(fresh, '.git');
  const umask = '022';
  const format = await objectFormatIn(repository);
  const init = [
    'init',
    '--quiet',
    '--template=',
    `--object-format=${format}`,
    `--initial-branch=${folder.branch ?? 'none'}`,
  ];
  await runGit(forge.git, { gitDir, workTree: fresh }, init, { umask });
  await mkdir(join(gitDir, 'info'), { recursive: true });
  await mkdir(join(gitDir, 'objects', 'info'), { recursive: true });
  // Another user reaches nothing in the server's home: it gets objects of its own. Not links: they would be given to it, too.
  if (sandbox.driver === 'user')
    await cp(join(repository.forgeDir, 'objects'), join(gitDir, 'objects'), { recursive: true });
  else await writeFile(join(gitDir, 'objects', 'info', 'alternates'), `${join(repository.forgeDir, 'objects')}\n`);
  await copyFile(join(repository.forgeDir, 'shallow'), join(gitDir, 'shallow')).catch(() => {});
  const place = { gitDir, workTree: fresh };
  const quote = quoteConfigValue;
  const config = [
    `[remote "origin"]\n\turl = ${quote(repository.forgeDir)}\n\tfetch = +refs/heads/*:refs/remotes/origin/*`,
    `[user]\n\tname = ${quote(identity.name)}\n\temail = ${quote(identity.email)}`,
    `[core]\n\texcludesFile = ${quote(excludeFile(folder))}\n`,
  ];
  await appendFile(join(gitDir, 'config'), config.join('\n'));
  const sparse = folder.purpose === 'reviewer' ? undefined : repository.config?.workspace.sparse;
  if (sparse) {
    await makeSparse(folder, gitDir, sparse);
    await appendFile(join(gitDir, 'config'), sparseSettings);
  }
  const base = await baseTip(forge, repository);
  if (base) await runGit(forge.git, place, ['update-ref', `refs/remotes/origin/${repository.base}`, base]);
  if (folder.branch === undefined)
    await runGit(forge.git, place, ['update-ref', '--no-deref', 'HEAD', folder.startCommit]);
  else await runGit(forge.git, place, ['update-ref', branchRef(folder.branch), folder.startCommit]);
  await runGit(forge.git, place, ['read-tree', '--reset', '-u', 'HEAD'], { umask, timeoutMs: 600_000 });
  await chmod(fresh, 0o700);
  await rename(fresh, folder.clone);
}

/**
 * The home may be one in which an agent worked before: what stands in the way is replaced as it is, never written through
 * (a symlink would lead outside, a FIFO would keep the server waiting).
 */
async function replaceInHome(folder: WorkFolder, name: string, text: string): Promise<void> {
  const fresh = join(folder.root, `new-${name.slice(1)}`);
  await writeFile(fresh, text);
  await rm(join(folder.home, name), { recursive: true, force: true });
  await rename(fresh, join(folder.home, name));
}

/** Git's configuration in the private home: identity, leave to read the forge as another user, no collection of garbage. */
function privateGitConfig(repository: ForgeRepository, folder: WorkFolder, identity: GitIdentity): string {
  const quote = quoteConfigValue;
  return [
    `[user]\n\tname = ${quote(identity.name)}\n\temail = ${quote(identity.email)}`,
    `[safe]\n\tdirectory = ${quote(repository.forgeDir)}\n\tdirectory = ${quote(folder.clone)}`,
    `[core]\n\texcludesFile = ${quote(excludeFile(folder))}`,
    '[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n[advice]\n\tdetachedHead = false\n',
  ].join('\n');
}

function quoteConfigValue(text: string): string {
  return `"${text.replaceAll(/[\\"]/g, (char) => `\\${char}`).replaceAll('\n', ' ')}"`;
}

/** Where nothing is bound (`sandbox: user:<name>`) the agent's group may pass through to its own folders, and nobody else. */
async function letIn(sandbox: Pick<Sandbox, 'driver' | 'owner'>, folder: WorkFolder): Promise<void> {
  if (sandbox.driver !== 'user' || !sandbox.owner) return;
  const above = dirname(folder.root);
  await chmod(above, ((await stat(above)).mode & 0o777) | 0o011);
  await chown(folder.root, 0, sandbox.owner.gid);
  await chmod(folder.root, 0o710);
}

/** Gives what the sandbox may write to the user that it runs as (X-4). */
async function giveTo(sandbox: Pick<Sandbox, 'driver' | 'owner'>, folder: WorkFolder): Promise<void> {
  if (!sandbox.owner) return;
  // Without a namespace the other user has to pass through the folder above.
  if (sandbox.driver === 'user') await chmod(folder.root, 0o711);
  await giveToOwner(sandbox.owner, [folder.clone, folder.home, folder.cache, folder.tmp]);
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
