import { randomBytes } from 'node:crypto';
import { chmod, mkdir, readdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve } from 'node:path';

import { type Actor, Fault, ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import { checkConnected, snapshotRepository } from '../../forge/index.ts';
import { backUpDatabase, readCopiedHead, readEventBounds } from '../../store/index.ts';
import type { BackupView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { copyFile, syncFolder, writeNew } from './copy-file.ts';
import { type BackupManifest, databaseName, manifestForm, manifestName, notIncluded } from './manifest.ts';

/** Marks a folder that is being written, or was when its server died. */
const unfinished = '.unfinished-';

/** A backup that is written by this process; a second one waits for nobody and is refused. */
let writing: string | undefined;

/**
 * Writes database, forge repositories, instance keys and journals of living sessions into one folder with a manifest, while
 * everything goes on (design section 5). The database comes first: a ref of the forge may be newer than what it says has landed,
 * never older. The folder gets its name at the very end, so that an interrupted backup looks like none.
 */
export async function writeBackup(
  ctx: AppContext,
  actor: Actor,
  path: string | undefined,
): Promise<Result<BackupView>> {
  const at = ctx.store.clock.now();
  const target = path ?? join(ctx.paths.backups, toRfc3339(at).replaceAll(/[:.]/g, '-'));
  const fault = await whyNotThere(ctx, target);
  if (fault) return fault;
  if (writing !== undefined)
    return refuse('held', 'backup_running', `A backup is being written into ${writing}: wait for it.`, {
      path: writing,
    });
  writing = target;
  const draft = join(dirname(target), `${unfinished}${basename(target)}-${randomBytes(4).toString('hex')}`);
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 });
    await clearUnfinished(ctx, target);
    await mkdir(draft, { mode: 0o700 });
    const manifest = await fill(ctx, draft, at);
    await writeNew(join(draft, manifestName), `${JSON.stringify(manifest, null, 1)}\n`);
    await syncFolder(draft);
    if (await exists(target)) return taken(target);
    await rename(draft, target);
    await syncFolder(dirname(target));
    return ok(await note(ctx, actor, target, manifest));
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (error instanceof Fault || code === undefined) throw error;
    throw new Fault('backup_failed', `The backup into ${target} failed: ${message}`, { cause: error });
  } finally {
    writing = undefined;
    await rm(draft, { recursive: true, force: true });
  }
}

/** Inside the home only `backups` is a place for one: elsewhere it would become part of the next. */
async function whyNotThere(ctx: AppContext, target: string): Promise<Result<never> | undefined> {
  if (!isAbsolute(target)) return refuse('invalid', 'backup_path', `${target} is no absolute path.`);
  const { home, backups } = ctx.paths;
  if (isInside(target, home) && !(isInside(target, backups) && resolve(target) !== backups)) {
    return refuse('invalid', 'backup_path', `${target} lies in the home: take a folder in ${backups}, or outside.`, {
      path: target,
    });
  }
  return (await exists(target)) ? taken(target) : undefined;
}

function taken(target: string): Result<never> {
  return refuse('duplicate', 'backup_exists', `${target} exists already; name another place.`, { path: target });
}

/** What a killed server left of earlier tries: all of them in our own folder, elsewhere those of the same name. */
async function clearUnfinished(ctx: AppContext, target: string): Promise<void> {
  const folder = dirname(target);
  const mark = resolve(folder) === ctx.paths.backups ? unfinished : `${unfinished}${basename(target)}-`;
  for (const entry of await readdir(folder))
    if (entry.startsWith(mark)) await rm(join(folder, entry), { recursive: true, force: true });
}

async function fill(ctx: AppContext, draft: string, at: number): Promise<BackupManifest> {
  const { paths } = ctx;
  const folders: BackupManifest['folders'] = [];
  const files: BackupManifest['files'] = [];
  const makeFolder = async (path: string, mode = 0o700): Promise<void> => {
    await mkdir(join(draft, path), { mode: 0o700 });
    folders.push({ path, mode });
  };
  const add = async (path: string, from: string, mode: number): Promise<void> => {
    files.push({ path, mode, ...(await copyFile(from, join(draft, path))) });
  };
  const addTree = async (path: string, from: string): Promise<void> => {
    await makeFolder(path);
    for (const entry of await readdir(from, { withFileTypes: true }).catch(none)) {
      const below = { path: join(path, entry.name), from: join(from, entry.name) };
      if (entry.isDirectory()) await addTree(below.path, below.from);
      else if (entry.isFile() && !entry.name.endsWith('.new')) await add(below.path, below.from, 0o600).catch(none);
    }
  };

  const head = await copyDatabase(ctx, draft);
  if (ctx.store.dialect === 'sqlite')
    files.push({ path: databaseName, mode: 0o600, ...(await copyFile(join(draft, databaseName), undefined)) });
  await addTree('keys', paths.keys);
  await add('prices.json', join(paths.home, 'prices.json'), 0o600).catch(none);
  await makeFolder('forge');
  for (const name of (await readdir(paths.forge).catch(none)).filter((entry) => entry.endsWith('.git'))) {
    const gitDir = join(paths.forge, name);
    const inside = (path: string): string => join('forge', name, path);
    await makeFolder(join('forge', name), 0o755);
    await snapshotRepository(ctx.forge, gitDir, {
      makeFolder: (path) => makeFolder(inside(path), 0o755),
      copy: async (path) => add(inside(path), join(gitDir, path), (await stat(join(gitDir, path))).mode & 0o777),
      async addText(path, text) {
        await writeNew(join(draft, inside(path)), text);
        files.push({ path: inside(path), mode: 0o644, ...(await copyFile(join(draft, inside(path)), undefined)) });
      },
    });
    await checkConnected(ctx.forge, join(draft, 'forge', name));
  }
  await makeFolder('sessions');
  const living = await ctx.store.read.selectFrom('session').select('id').where('ended_at', 'is', null).execute();
  for (const { id } of living)
    if (await exists(join(paths.sessions, id))) await addTree(join('sessions', id), join(paths.sessions, id));
  for (const { path } of folders.toReversed()) await syncFolder(join(draft, path));
  return {
    form: manifestForm,
    version: ctx.version,
    instance: ctx.nodeId,
    createdAt: toRfc3339(at),
    database: ctx.store.dialect,
    head,
    folders,
    files,
    notIncluded: [...notIncluded],
  };
}

/** Copies an embedded database; of PostgreSQL only the head of the chain is read, to be compared with its own dump. */
async function copyDatabase(ctx: AppContext, draft: string): Promise<{ seq: number; hash: string }> {
  if (ctx.store.dialect !== 'sqlite') {
    await ctx.store.settled();
    const { head, hash } = await readEventBounds(ctx.store);
    return { seq: head, hash };
  }
  const copy = join(draft, databaseName);
  await backUpDatabase(ctx.paths.database, copy);
  await chmod(copy, 0o600);
  return readCopiedHead(copy);
}

async function note(ctx: AppContext, actor: Actor, target: string, manifest: BackupManifest): Promise<BackupView> {
  const { createdAt, database, head } = manifest;
  const files = manifest.files.length;
  const bytes = manifest.files.reduce((sum, file) => sum + file.size, 0);
  await ctx.store.tx((tx) =>
    tx.emit({
      kind: 'instance.backed-up',
      actor,
      subject: { kind: 'instance', id: 'instance' },
      facts: { files, bytes, head: head.seq },
    }),
  );
  return { path: target, createdAt, database, files, bytes, head, notIncluded: manifest.notIncluded };
}

function isInside(path: string, folder: string): boolean {
  const way = relative(folder, resolve(path));
  return way === '' || (!way.startsWith('..') && !isAbsolute(way));
}

function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

function none(error: NodeJS.ErrnoException): [] {
  if (error.code === 'ENOENT') return [];
  throw error;
}
