import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import { Fault } from '../../kernel/index.ts';
import { operationInProgress } from '../detect-repository.ts';
import { type Forge, viewCheckout } from '../forge.ts';
import {
  type Checkout,
  gitRecords,
  gitText,
  locateCheckout,
  readHead,
  readRef,
  readRegularText,
  readStatus,
  runGit,
  type View,
} from '../git/index.ts';
import { takeOverCommand } from '../local/take-over-command.ts';
import { branchRef, type ForgeRepository } from '../repository.ts';
import { openRefTransaction } from './ref-transaction.ts';

/** What became of the operator's base after a landing; announced either way. */
export type FastForward =
  | { outcome: 'forwarded'; from: string; to: string; files: number }
  | { outcome: 'already'; to: string }
  /** Nothing was changed; `command` does it by hand, `reason` says why the server did not. */
  | { outcome: 'left'; reason: string; command: string };

/**
 * Brings the operator's base to `to` (in the forge's base) where that is a plain fast-forward of a clean tree; otherwise
 * changes nothing and says the one command (design section 6). Nothing configured in the checkout is executed: no hook,
 * filter, fsmonitor. Repeated after a crash it finishes what it began.
 */
export function fastForwardOperator(forge: Forge, repository: ForgeRepository, to: string): Promise<FastForward> {
  return forge.turns.run(`checkout ${repository.id}`, () => fastForwardInTurn(forge, repository, to));
}

async function fastForwardInTurn(forge: Forge, repository: ForgeRepository, to: string): Promise<FastForward> {
  const located = await locateCheckout(repository.operatorPath);
  if (!located.ok) return left(repository, located.refusal.message);
  const checkout = located.value;
  const from = await readRef(checkout, branchRef(repository.base));
  if (from === to) return { outcome: 'already', to };
  if (!from) return left(repository, `branch ${repository.base} is gone`);
  const view = await viewCheckout(forge, checkout, { refs: [branchRef(repository.base)] });
  try {
    const reason = await whyNot(forge, repository, view, from, to);
    if (reason) return left(repository, reason, checkout, reason === ownCommits(repository));
    return await forward(forge, repository, view, from, to);
  } finally {
    await view.close();
  }
}

async function whyNot(
  forge: Forge,
  repository: ForgeRepository,
  view: View,
  from: string,
  to: string,
): Promise<string | undefined> {
  const { checkout } = view;
  const forgeView = { gitDir: repository.forgeDir };
  const known = await runGit(forge.git, forgeView, ['merge-base', '--is-ancestor', from, to], { answers: [0, 1, 128] });
  if (known.exitCode !== 0) return ownCommits(repository);
  const owner = await lstat(checkout.commonDir);
  if (process.getuid && owner.uid !== process.getuid()) return 'the checkout belongs to another user';
  const elsewhere = await otherHolder(checkout, repository.base);
  if (elsewhere) return `${repository.base} is checked out in another work tree (${elsewhere})`;
  if ((await readHead(checkout)).branch !== repository.base) return undefined;
  const unfinished = await operationInProgress(checkout);
  if (unfinished) return `a ${unfinished} is not finished`;
  const special = await specialIndex(forge, view, to, forgeView);
  if (special) return special;
  const status = await readStatus(forge.git, view.withFiles);
  if (await isHalfDone(forge, view, repository, to, status)) return undefined;
  if (!status.isClean && status.staged.length + status.unstaged.length + status.unmerged.length > 0)
    return `there is uncommitted work in ${[...status.staged, ...status.unstaged, ...status.unmerged].slice(0, 3).join(', ')}`;
  const inTheWay = await findInTheWay(forge, forgeView, checkout, from, to);
  return inTheWay ? `a file that is not in git is in the way: ${inTheWay}` : undefined;
}

function ownCommits(repository: ForgeRepository): string {
  return `${repository.base} has commits there that the landed base does not have`;
}

/** Crashed between writing the files and moving the ref: files and index are those of `to` already. */
async function isHalfDone(
  forge: Forge,
  view: View,
  repository: ForgeRepository,
  to: string,
  status: { unstaged: string[]; unmerged: string[] },
): Promise<boolean> {
  if (status.unstaged.length + status.unmerged.length > 0) return false;
  const index = await runGit(
    forge.git,
    { ...view.withFiles, alternates: [join(repository.forgeDir, 'objects')] },
    ['write-tree'],
    { answers: [0, 128] },
  );
  const wanted = await gitText(forge.git, { gitDir: repository.forgeDir }, [
    'rev-parse',
    '--verify',
    '--end-of-options',
    `${to}^{tree}`,
  ]);
  return index.stdout.toString('utf8').trim() === wanted;
}

async function forward(
  forge: Forge,
  repository: ForgeRepository,
  view: View,
  from: string,
  to: string,
): Promise<FastForward> {
  const { checkout } = view;
  const umask = await umaskOf(checkout);
  const store = join(checkout.commonDir, 'objects');
  // The objects come through our own git folder: the checkout's configuration (insteadOf, sshCommand, …) is never read.
  const fetch = [
    'fetch',
    '--quiet',
    '--no-tags',
    '--no-write-fetch-head',
    '--update-shallow',
    repository.forgeDir,
    `+${to}:refs/chantier/landed`,
  ];
  await runGit(forge.git, { gitDir: view.place.gitDir, objectDirectory: store }, fetch, {
    umask,
    timeoutMs: 600_000,
  });
  const changed = await gitRecords(forge.git, view.place, ['diff-tree', '-r', '-z', '--name-only', from, to]);
  const ref = branchRef(repository.base);
  const message = `chantier: fast-forward ${repository.base} to ${to.slice(0, 12)}`;
  // The one write that names the checkout's own git folder. `update-ref` runs nothing but the reference hook, which is off.
  const transaction = await openRefTransaction(forge.git, checkout.gitDir, { ref, to, old: from, message, umask });
  if (!transaction) return left(repository, `${repository.base} moved or is locked by another git command`, checkout);
  let isWritten = false;
  try {
    if ((await readHead(checkout)).branch === repository.base) await writeFiles(forge, view, from, to, umask);
    isWritten = true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return left(repository, `git could not write the files: ${error.message}`, checkout);
  } finally {
    if (isWritten) await transaction.commit();
    else await transaction.abort();
  }
  return { outcome: 'forwarded', from, to, files: changed.length };
}

/** Writes files and index of `to` over a clean tree of `from`; git's own index lock keeps other commands away. */
async function writeFiles(forge: Forge, view: View, from: string, to: string, umask: string): Promise<void> {
  const place = {
    gitDir: view.place.gitDir,
    workTree: view.checkout.top,
    indexFile: join(view.checkout.gitDir, 'index'),
  };
  await runGit(forge.git, place, ['update-index', '-q', '--refresh'], { umask, answers: [0, 1] });
  const tree = await gitText(forge.git, place, ['write-tree']).catch(() => '');
  if (tree === (await gitText(forge.git, view.place, ['rev-parse', `${to}^{tree}`]))) return;
  await runGit(forge.git, place, ['read-tree', '-m', '-u', from, to], { umask, timeoutMs: 300_000 });
}

/** Parts of git that the server's narrow writing does not speak; the operator's own git does. */
async function specialIndex(
  forge: Forge,
  view: View,
  to: string,
  forgeView: { gitDir: string },
): Promise<string | undefined> {
  const { checkout, settings } = view;
  if ((await readdir(checkout.gitDir)).some((name) => name.startsWith('sharedindex.'))) return 'its index is split';
  if (settings.get('core.sparsecheckout') === 'true' || settings.get('index.sparse') === 'true')
    return 'it is a sparse checkout';
  const attributes = (await readRegularText(join(checkout.commonDir, 'info', 'attributes'))) ?? '';
  if (/filter=/.test(attributes)) return 'it uses content filters';
  const found = await runGit(
    forge.git,
    forgeView,
    ['grep', '--quiet', '-e', 'filter=', to, '--', ':(glob)**/.gitattributes'],
    {
      answers: [0, 1],
      globPathspecs: true,
    },
  );
  if (found.exitCode === 0) return 'it uses content filters (such as git-lfs)';
  const changes = await gitRecords(forge.git, forgeView, [
    'diff-tree',
    '-r',
    '-z',
    '--raw',
    (await readHead(checkout)).commit ?? to,
    to,
  ]);
  return changes.some((record) => /^:(160000 |\d+ 160000 )/.test(record)) ? 'a submodule changes' : undefined;
}

/** The first path that `to` adds and that lies in the work tree already, as a file or as a file in place of a folder. */
async function findInTheWay(
  forge: Forge,
  place: { gitDir: string },
  checkout: Checkout,
  from: string,
  to: string,
): Promise<string | undefined> {
  const args = ['diff-tree', '-r', '-z', '--no-renames', '--name-status', from, to];
  const records = await gitRecords(forge.git, place, args);
  const gone = new Set<string>();
  const added: string[] = [];
  for (let at = 0; at + 1 < records.length; at += 2) {
    const path = records[at + 1] ?? '';
    if (records[at] === 'A') added.push(path);
    if (records[at] === 'D') gone.add(path);
  }
  for (const path of added) {
    if (await exists(join(checkout.top, path))) {
      // A tracked folder that empties itself may become a file; anything else there is not ours to replace.
      if (
        ![...gone].some((one) => one.startsWith(`${path}/`)) ||
        (await hasUntracked(join(checkout.top, path), path, gone))
      )
        return path;
    }
    for (let parent = dirname(path); parent !== '.'; parent = dirname(parent)) {
      const entry = await lstat(join(checkout.top, parent)).catch(() => undefined);
      if (entry && !entry.isDirectory() && !gone.has(parent)) return parent;
    }
  }
  return undefined;
}

async function hasUntracked(folder: string, path: string, gone: ReadonlySet<string>): Promise<boolean> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.some(
    (entry) =>
      !entry.isDirectory() && !gone.has(join(path, join(entry.parentPath, entry.name).slice(folder.length + 1))),
  );
}

/** Another work tree of the same repository that has the branch checked out. */
async function otherHolder(checkout: Checkout, base: string): Promise<string | undefined> {
  const folder = join(checkout.commonDir, 'worktrees');
  const names = await readdir(folder).catch(() => [] as string[]);
  const gitDirs = [checkout.commonDir, ...names.map((name) => join(folder, name))].filter(
    (dir) => dir !== checkout.gitDir,
  );
  for (const gitDir of gitDirs) {
    const head = await readRegularText(join(gitDir, 'HEAD'), 4096);
    if (head === `ref: ${branchRef(base)}`) return gitDir;
  }
  return undefined;
}

/** The umask under which the checkout's own files were made; the server's is narrower than the operator's. */
async function umaskOf(checkout: Checkout): Promise<string> {
  const { mode } = await lstat(join(checkout.commonDir, 'objects'));
  return (~mode & 0o077).toString(8).padStart(3, '0');
}

async function left(
  repository: ForgeRepository,
  reason: string,
  checkout?: Checkout,
  hasOwnCommits = false,
): Promise<FastForward> {
  const isOnBase = checkout === undefined || (await readHead(checkout)).branch === repository.base;
  return { outcome: 'left', reason, command: takeOverCommand(repository, { isOnBase, hasOwnCommits }) };
}

function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
