import { chmod, lstat, mkdir, mkdtemp, readdir, realpath, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { giveToOwner, type Sandbox } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import { type GitPlace, gitRecords, isObjectId, locateCheckout, runGit } from '../git/index.ts';
import { type ForgeRepository, forgePlace } from '../repository.ts';
import { isInCone, sparseFolders } from './sparse.ts';
import type { WorkFolder } from './work-folder.ts';

/** A submodule as one commit names it. */
export interface Submodule {
  path: string;
  name: string;
  url: string;
  commit: string;
}

const deepest = 3;
const most = 64;

/**
 * Puts the files of submodules into a fresh clone, from what the operator's own checkout has fetched already: nothing is
 * fetched, no URL is followed, no hook or filter runs. Files only, read-only and without a repository of their own, so that
 * work in them cannot seem to be delivered. Gives the paths that were filled, and those whose commit is not on this machine.
 */
export async function fillSubmodules(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  sandbox: Pick<Sandbox, 'owner'>,
): Promise<{ filled: string[]; missing: string[] }> {
  const result = { filled: [] as string[], missing: [] as string[] };
  const submodules = await listSubmodules(forge, forgePlace(repository), folder.startCommit);
  if (submodules.length === 0) return result;
  const located = await locateCheckout(repository.operatorPath);
  const modules = located.ok ? join(located.value.commonDir, 'modules') : undefined;
  const cone = await sparseFolders(folder);
  for (const submodule of submodules) {
    if (cone && !isInCone(`${submodule.path}/x`, cone)) continue;
    await fill(forge, folder, { ...submodule, modules, depth: 1 }, result);
  }
  await giveToOwner(
    sandbox.owner,
    result.filled.map((path) => join(folder.clone, path)),
  );
  return result;
}

/** The submodules that `commit` names, with their places in `.gitmodules`; those without a place are left out. */
export async function listSubmodules(forge: Forge, place: GitPlace, commit: string): Promise<Submodule[]> {
  const file = await runGit(forge.git, place, ['ls-tree', '-z', commit, '--', '.gitmodules']);
  if (!file.stdout.toString('utf8').startsWith('100')) return [];
  const list = ['config', '-z', '--blob', `${commit}:.gitmodules`, '--list'];
  const settings = await gitRecords(forge.git, place, list, { answers: [0, 1, 128] });
  const known = new Map<string, { path?: string; url?: string }>();
  for (const record of settings) {
    const end = record.indexOf('\n');
    const [key, value] = [record.slice(0, end), record.slice(end + 1)];
    const [, name, part] = /^submodule\.(.+)\.(path|url)$/.exec(key) ?? [];
    if (name && part) known.set(name, { ...known.get(name), [part]: value });
  }
  const entries = await gitRecords(forge.git, place, ['ls-tree', '-r', '-z', commit], {
    maxOutputBytes: 256 * 1024 ** 2,
  });
  return entries.flatMap((entry) => {
    const [, id = '', path = ''] = /^160000 commit ([0-9a-f]+)\t([\s\S]+)$/.exec(entry) ?? [];
    const found = [...known].find(([, one]) => one.path === path);
    if (!found || !isObjectId(id)) return [];
    return [{ path, name: found[0], url: found[1].url ?? '', commit: id }];
  });
}

/** Whether the operator's checkout has the commit of a submodule. */
export async function hasSubmodule(forge: Forge, modules: string, submodule: Submodule): Promise<boolean> {
  return (await withModule(forge, modules, submodule, async () => true)) === true;
}

async function fill(
  forge: Forge,
  folder: WorkFolder,
  submodule: Submodule & { modules: string | undefined; depth: number },
  result: { filled: string[]; missing: string[] },
): Promise<void> {
  const { path, modules, depth } = submodule;
  if (result.filled.length + result.missing.length >= most || depth > deepest) return;
  const target = join(folder.clone, path);
  const inner = await withModule(forge, modules, submodule, async (place, moduleFolder) => {
    await mkdir(target, { recursive: true });
    if ((await realpath(target)) !== target) return [];
    const withTree = { ...place, workTree: target };
    await runGit(forge.git, withTree, ['read-tree', '--reset', '-u', submodule.commit], {
      umask: '022',
      timeoutMs: 600_000,
    });
    const nested = await listSubmodules(forge, place, submodule.commit);
    return nested.map((one) => ({ ...one, path: `${path}/${one.path}`, modules: join(moduleFolder, 'modules') }));
  });
  if (inner === undefined) {
    result.missing.push(path);
    return;
  }
  for (const one of inner) await fill(forge, folder, { ...one, depth: depth + 1 }, result);
  await makeReadOnly(target);
  if (depth === 1) result.filled.push(path);
}

/** Runs `fn` with a server-owned view of the operator's copy of a submodule; `undefined` when it has not that commit. */
async function withModule<T>(
  forge: Forge,
  modules: string | undefined,
  submodule: Submodule,
  fn: (place: GitPlace, moduleFolder: string) => Promise<T>,
): Promise<T | undefined> {
  if (modules === undefined) return undefined;
  const wanted = join(modules, submodule.name);
  const moduleFolder = await realpath(wanted).catch(() => undefined);
  // A name with `..`, or a symlink, would lead to another repository of the operator.
  if (moduleFolder !== wanted || !wanted.startsWith(`${modules}/`) || /[\n"]/.test(wanted)) return undefined;
  await mkdir(forge.folders.scratch, { recursive: true, mode: 0o700 });
  const gitDir = await mkdtemp(join(forge.folders.scratch, 'module-'));
  try {
    const isSha256 = submodule.commit.length === 64;
    const version = `[core]\n\trepositoryformatversion = ${isSha256 ? 1 : 0}\n\tbare = false\n`;
    await writeFile(join(gitDir, 'config'), isSha256 ? `${version}[extensions]\n\tobjectformat = sha256\n` : version);
    await writeFile(join(gitDir, 'HEAD'), `${submodule.commit}\n`);
    await mkdir(join(gitDir, 'refs'));
    await mkdir(join(gitDir, 'objects', 'info'), { recursive: true });
    await writeFile(join(gitDir, 'objects', 'info', 'alternates'), `${join(moduleFolder, 'objects')}\n`);
    const has = await runGit(forge.git, { gitDir }, ['cat-file', '-e', `${submodule.commit}^{tree}`], {
      answers: [0, 1, 128],
    });
    return has.exitCode === 0 ? await fn({ gitDir }, moduleFolder) : undefined;
  } finally {
    await rm(gitDir, { recursive: true, force: true });
  }
}

/** Files only: what is built beside them may be written. */
async function makeReadOnly(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) await makeReadOnly(path);
    else if (entry.isFile()) await chmod(path, (await lstat(path)).mode & 0o555);
  }
}
