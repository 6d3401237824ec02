import { chmod, lstat, mkdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { Fault, ok, refuse, type Result } from '../../kernel/index.ts';
import { copyFile, syncFolder } from './copy-file.ts';
import { type BackupManifest, damaged, manifestForm, manifestName, manifestSchema } from './manifest.ts';

/** Manifests are a few hundred bytes for each file of a repository. */
const maxManifestBytes = 512 * 1024 * 1024;

/** Reads the manifest of a backup. Refuses `no_backup`, `backup_newer` and `backup_damaged`. */
export async function readManifest(folder: string): Promise<Result<BackupManifest>> {
  const path = join(folder, manifestName);
  const found = await stat(path).catch(() => undefined);
  if (!found?.isFile())
    return refuse('not-found', 'no_backup', `There is no backup in ${folder}: it has no ${manifestName}.`, {
      path: folder,
    });
  if (found.size > maxManifestBytes) return damaged(path, 'is larger than any manifest');
  let content: unknown;
  try {
    content = JSON.parse(await readFile(path, 'utf8'));
  } catch {
    return damaged(path, 'is no JSON');
  }
  const form = (content as { form?: unknown } | null)?.form;
  if (typeof form === 'number' && form > manifestForm)
    return refuse('wrong-state', 'backup_newer', `${folder} was written by a newer Chantier: install that one first.`);
  const parsed = manifestSchema.safeParse(content);
  return parsed.success
    ? ok(parsed.data)
    : damaged(path, `does not read as a manifest (${parsed.error.issues[0]?.path.join('.')})`);
}

/**
 * Copies everything that the manifest names into `staging`, which is there and empty, and compares each file with its size and hash
 * on the way. Refuses `backup_damaged` with the name of the first that is missing or was changed; what the manifest does not name
 * is left behind.
 */
export async function stageBackup(from: string, manifest: BackupManifest, staging: string): Promise<Result<undefined>> {
  try {
    return await copyAll(from, manifest, staging);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    // A file twice, or one without its folder: no backup of ours has that.
    if (code === 'EEXIST' || code === 'ENOENT' || code === 'ENOTDIR')
      return damaged(join(from, manifestName), `contradicts itself (${code})`);
    if (code === undefined) throw error;
    throw new Fault('restore_failed', `The copy into ${staging} failed: ${message}. Nothing was changed.`, {
      cause: error,
    });
  }
}

async function copyAll(from: string, manifest: BackupManifest, staging: string): Promise<Result<undefined>> {
  for (const { path } of manifest.folders) await mkdir(join(staging, path), { mode: 0o700 });
  for (const file of manifest.files) {
    const source = join(from, file.path);
    const found = await lstat(source).catch(() => undefined);
    if (!found?.isFile()) return damaged(source, 'is missing');
    if (found.size !== file.size) return damaged(source, `has ${found.size} bytes instead of ${file.size}`);
    const copied = await copyFile(source, join(staging, file.path), file.mode);
    if (copied.size !== file.size || copied.sha256 !== file.sha256) return damaged(source, 'was changed');
  }
  for (const { path, mode } of manifest.folders.toReversed()) {
    await syncFolder(join(staging, path));
    await chmod(join(staging, path), mode);
  }
  await syncFolder(staging);
  return ok();
}
