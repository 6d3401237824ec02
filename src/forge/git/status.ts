import { readRegularText } from './read-regular.ts';
import { join } from 'node:path';

import type { Checkout } from './checkout.ts';
import type { Git } from './git.ts';
import { gitRecords, type GitPlace } from './run-git.ts';

/** What differs from HEAD, paths relative to the top; folders of untracked files end with `/`. */
export interface DirtyState {
  staged: string[];
  unstaged: string[];
  untracked: string[];
  unmerged: string[];
  /** Entries of the stash; they are never touched. */
  stashCount: number;
  isClean: boolean;
}

/** Compares HEAD, index and work tree of `place` without writing anything, not even a refreshed index. */
export async function readStatus(
  git: Git,
  place: GitPlace,
  options: { everyFile?: boolean } = {},
): Promise<Omit<DirtyState, 'stashCount'>> {
  const files = options.everyFile ? 'all' : 'normal';
  const args = [
    'status',
    '--porcelain=v2',
    '-z',
    `--untracked-files=${files}`,
    '--ignore-submodules=dirty',
    '--no-renames',
  ];
  const records = await gitRecords(git, place, args, { maxOutputBytes: 64 * 1024 * 1024, timeoutMs: 120_000 });
  const state = {
    staged: [] as string[],
    unstaged: [] as string[],
    untracked: [] as string[],
    unmerged: [] as string[],
  };
  for (const record of records) {
    const kind = record[0];
    if (kind === '?') state.untracked.push(record.slice(2));
    else if (kind === 'u') state.unmerged.push(fieldsAfter(record, 10));
    else if (kind === '1') {
      const path = fieldsAfter(record, 8);
      if (record[2] !== '.') state.staged.push(path);
      if (record[3] !== '.') state.unstaged.push(path);
    }
  }
  const isClean = Object.values(state).every((paths) => paths.length === 0);
  return { ...state, isClean };
}

/** How many stashes a checkout holds, by its reflog. */
export async function countStashes(checkout: Checkout): Promise<number> {
  const log = await readRegularText(join(checkout.commonDir, 'logs', 'refs', 'stash'), 16 * 1024 * 1024);
  return log ? log.split('\n').length : 0;
}

function fieldsAfter(record: string, count: number): string {
  let at = 0;
  for (let field = 0; field < count; field++) at = record.indexOf(' ', at) + 1;
  return record.slice(at);
}
