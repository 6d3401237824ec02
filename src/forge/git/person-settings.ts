import { existsSync } from 'node:fs';
import { join } from 'node:path';

import type { Git } from './git.ts';
import { harmlessSettings, readSettingsFile } from './settings-of.ts';

/** What a person set for all their repositories, as far as it says how files compare; nothing of it can execute. */
export interface PersonSettings {
  settings: [string, string][];
  /** Patterns of files that the person never wants to see in git. */
  excludesFile: string | undefined;
}

/** Reads a person's own git configuration below `home` as data: without includes, without running anything. */
export async function readPersonSettings(git: Git, home: string): Promise<PersonSettings> {
  const files = [join(home, '.config', 'git', 'config'), join(home, '.gitconfig')];
  const maps = await Promise.all(files.filter((file) => existsSync(file)).map((file) => readSettingsFile(git, file)));
  const all = new Map(maps.flatMap((map) => [...map]));
  const named = all.get('core.excludesfile')?.replace(/^~\//, `${home}/`);
  const excludesFile = named ?? join(home, '.config', 'git', 'ignore');
  const isPlain = excludesFile.startsWith('/') && !/[\n"\\]/.test(excludesFile);
  return { settings: harmlessSettings(all), excludesFile: isPlain ? excludesFile : undefined };
}
