import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Checkout } from './checkout.ts';
import type { Git } from './git.ts';
import { gitRecords } from './run-git.ts';

/** Settings of a repository as data, keys in git's lower-case form (`remote.origin.url`), last value wins. */
export type GitSettings = ReadonlyMap<string, string>;

/** Settings that only say how files are compared and written; the others of a repository are never taken over. */
const harmless = new Set([
  'core.autocrlf',
  'core.checkstat',
  'core.eol',
  'core.filemode',
  'core.ignorecase',
  'core.precomposeunicode',
  'core.safecrlf',
  'core.symlinks',
  'core.trustctime',
]);

/** Reads `config` and `config.worktree` of a checkout as data. */
export async function readSettings(git: Git, checkout: Checkout): Promise<GitSettings> {
  const files = [join(checkout.commonDir, 'config'), join(checkout.gitDir, 'config.worktree')];
  const maps = await Promise.all(files.filter((file) => existsSync(file)).map((file) => readSettingsFile(git, file)));
  return new Map(maps.flatMap((map) => [...map]));
}

/** Reads one configuration file as data: `--file` follows no include and runs nothing. Missing or broken = empty. */
export async function readSettingsFile(git: Git, file: string): Promise<GitSettings> {
  const args = ['config', '--file', file, '--no-includes', '--null', '--list'];
  const records = await gitRecords(git, { gitDir: '/nonexistent' }, args).catch(() => []);
  return new Map(
    records.map((record) => {
      const at = record.indexOf('\n');
      return at < 0 ? [record, 'true'] : [record.slice(0, at), record.slice(at + 1)];
    }),
  );
}

/** The part of `settings` that a view takes over. */
export function harmlessSettings(settings: GitSettings): [string, string][] {
  return [...settings].filter(([key, value]) => harmless.has(key) && /^[\w.-]+$/.test(value));
}

/** The remotes and where they fetch from, `origin` first. */
export function remotesOf(settings: GitSettings): { name: string; url: string }[] {
  const remotes = [...settings].flatMap(([key, url]) => {
    const name = /^remote\.(.+)\.url$/.exec(key)?.[1];
    return name === undefined ? [] : [{ name, url }];
  });
  return remotes.toSorted((a, b) => Number(b.name === 'origin') - Number(a.name === 'origin'));
}
