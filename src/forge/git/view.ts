import { chmod, copyFile, mkdir, mkdtemp, readdir, rm, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Fault } from '../../kernel/index.ts';
import { type Checkout, readHead, readRef } from './checkout.ts';
import type { Git } from './git.ts';
import { readRegular } from './read-regular.ts';
import type { PersonSettings } from './person-settings.ts';
import type { GitPlace } from './run-git.ts';
import { type GitSettings, harmlessSettings, readSettings } from './settings-of.ts';

/**
 * A server-owned git folder that shows somebody else's checkout: its objects borrowed, its HEAD, wanted refs and index
 * copied, its configuration reduced to what cannot execute anything. Git commands run here never read the checkout's own
 * configuration and never write into it (design section 4 "Git").
 */
export interface View {
  checkout: Checkout;
  settings: GitSettings;
  /** Place for commands over objects and refs. */
  place: GitPlace;
  /** Place for commands that compare with the files of the work tree. */
  withFiles: GitPlace;
  close(): Promise<void>;
}

/** What a view is to show. */
export interface ViewOptions {
  /** Refs that are copied besides HEAD's branch. */
  refs?: readonly string[];
  /** Whether the index is copied, for comparing files. Default true. */
  withIndex?: boolean;
  /** What the person in front of the checkout set for all their repositories. */
  person?: PersonSettings;
}

/** Opens a view in a fresh folder below `scratch`. Close it when done. */
export async function openView(
  git: Git,
  checkout: Checkout,
  scratch: string,
  options: ViewOptions = {},
): Promise<View> {
  await mkdir(scratch, { recursive: true, mode: 0o700 });
  const gitDir = await mkdtemp(join(scratch, 'view-'));
  const close = (): Promise<void> => rm(gitDir, { recursive: true, force: true });
  try {
    const settings = await readSettings(git, checkout);
    await writeSkeleton(gitDir, checkout, settings, options.person);
    await copyRefs(gitDir, checkout, options.refs ?? []);
    if (options.withIndex !== false) await copyIndex(gitDir, checkout);
    const place = { gitDir };
    return { checkout, settings, place, withFiles: { gitDir, workTree: checkout.top }, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function writeSkeleton(
  gitDir: string,
  checkout: Checkout,
  settings: GitSettings,
  person: PersonSettings | undefined,
): Promise<void> {
  const objects = join(checkout.commonDir, 'objects');
  if (/[\n"]/.test(objects))
    throw new Fault(
      'unusual_path',
      `The path ${JSON.stringify(objects)} cannot be borrowed by git; rename the folder.`,
    );
  await mkdir(join(gitDir, 'objects', 'info'), { recursive: true });
  await mkdir(join(gitDir, 'refs', 'heads'), { recursive: true });
  await mkdir(join(gitDir, 'info'));
  await writeFile(join(gitDir, 'objects', 'info', 'alternates'), `${objects}\n`);
  await writeFile(join(gitDir, 'config'), viewConfig(settings, person));
  for (const name of ['info/exclude', 'info/sparse-checkout', 'shallow']) {
    const content = await readRegular(join(checkout.commonDir, name));
    if (content) await writeFile(join(gitDir, name), content);
  }
}

function viewConfig(settings: GitSettings, person: PersonSettings | undefined): string {
  const isSha256 = settings.get('extensions.objectformat') === 'sha256';
  // The repository's own words stand above those of the person.
  const harmless = new Map([...(person?.settings ?? []), ...harmlessSettings(settings)]);
  const core = [...harmless].map(([key, value]) => `\t${key.slice('core.'.length)} = ${value}\n`);
  if (person?.excludesFile) core.push(`\texcludesFile = ${JSON.stringify(person.excludesFile)}\n`);
  const extensions = isSha256 ? '[extensions]\n\tobjectformat = sha256\n' : '';
  return `[core]\n\trepositoryformatversion = ${isSha256 ? 1 : 0}\n\tbare = false\n${core.join('')}${extensions}`;
}

async function copyRefs(gitDir: string, checkout: Checkout, refs: readonly string[]): Promise<void> {
  const head = await readHead(checkout);
  await writeFile(
    join(gitDir, 'HEAD'),
    head.branch ? `ref: refs/heads/${head.branch}\n` : `${head.commit ?? 'ref: refs/heads/none'}\n`,
  );
  const wanted = head.branch ? [`refs/heads/${head.branch}`, ...refs] : refs;
  for (const ref of wanted) {
    const id = await readRef(checkout, ref);
    if (!id) continue;
    const file = join(gitDir, ref);
    await mkdir(join(file, '..'), { recursive: true });
    await writeFile(file, `${id}\n`);
  }
}

/** Copies the index with an earlier time stamp than its own, so that git compares files it is unsure about by content. */
async function copyIndex(gitDir: string, checkout: Checkout): Promise<void> {
  const source = join(checkout.gitDir, 'index');
  const entry = await stat(source).catch(() => undefined);
  if (!entry?.isFile()) return;
  const copy = join(gitDir, 'index');
  await copyFile(source, copy);
  await chmod(copy, 0o600);
  const time = Math.floor(entry.mtimeMs - 1) / 1000;
  await utimes(copy, time, time);
  for (const name of await readdir(checkout.gitDir)) {
    if (!name.startsWith('sharedindex.')) continue;
    await copyFile(join(checkout.gitDir, name), join(gitDir, name));
    await chmod(join(gitDir, name), 0o600);
  }
}
