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

/** Reads `config` and `config.worktree` of a checkout as data: `--file` follows no include and runs nothing. */
export async function readSettings(git: Git, checkout: Checkout): Promise<GitSettings> {
  const settings = new Map<string, string>();
  for (const file of [join(checkout.commonDir, 'config'), join(checkout.gitDir, 'config.worktree')]) {
    const place = { gitDir: '/nonexistent' };
    const records = await gitRecords(git, place, ['config', '--file', file, '--no-includes', '--null', '--list']).catch(
      () => [],
    );
    for (const record of records) {
      const at = record.indexOf('\n');
      if (at < 0) settings.set(record, 'true');
      else settings.set(record.slice(0, at), record.slice(at + 1));
    }
  }
  return settings;
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
