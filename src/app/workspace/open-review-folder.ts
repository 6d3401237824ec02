import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Fault, systemActor } from '../../kernel/index.ts';
import {
  changedFiles,
  createWorkFolder,
  markWorkFolder,
  patchOf,
  recordWorkFolder,
  type Repository,
  type WorkFolder,
  workFolderAt,
  workFolderEnvironment,
  workFolderProfile,
} from '../../forge/index.ts';
import { runInSandbox } from '../../sandbox/index.ts';
import type { Session } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';
import { authorIdentity } from './open-author-folder.ts';
import { insideOf } from './inside.ts';

const actor = systemActor('work-folders');

/** Agent instructions and agents' own configuration: never taken from the change under review (design section 7 "Reviewers"). */
export function isAgentInstruction(path: string): boolean {
  const name = path.split('/').at(-1) ?? '';
  if (
    [
      'CLAUDE.md',
      'CLAUDE.local.md',
      'AGENTS.md',
      'GEMINI.md',
      '.mcp.json',
      '.cursorrules',
      'copilot-instructions.md',
    ].includes(name)
  )
    return true;
  return path
    .split('/')
    .some((part) => ['.claude', '.codex', '.gemini', '.opencode', '.cursor', '.github/agents'].includes(part));
}

/** What a reviewer is shown. */
export interface ReviewFolder {
  folder: WorkFolder;
  files: string[];
  /** Put back to the base in the reviewer's clone. */
  restored: string[];
  patch: string;
  isPatchCut: boolean;
  patchPath: string;
}

/** The prompt carries at most this much of the patch; the whole lies in a file. */
const maxPromptPatch = 60_000;

/** Makes the reviewer's clone at the head, agent instructions restored from the base, and the patch beside it. Safe to repeat. */
export async function openReviewFolder(
  ctx: AppContext,
  session: Session,
  repository: Repository,
  change: { head: string; base: string },
): Promise<ReviewFolder> {
  const inside = insideOf(ctx);
  const ownerKey = session.id;
  const path = workFolderAt(ctx.forge, {
    ownerKey,
    repositoryId: repository.id,
    purpose: 'reviewer',
    branch: undefined,
    startCommit: change.head,
  }).root;
  const recorded = await ctx.store.tx((tx) =>
    recordWorkFolder(tx, {
      repositoryId: repository.id,
      ownerKey,
      purpose: 'reviewer',
      path,
      startCommit: change.head,
      actor,
    }),
  );
  const folder = await createWorkFolder(ctx.forge, repository, {
    ownerKey,
    purpose: 'reviewer',
    startCommit: change.head,
    identity: authorIdentity(session.agent),
    sandbox: inside.sandbox,
  });
  const facts = await changedFiles(ctx.forge, repository, change.base, change.head);
  const restored = facts.files.map((file) => file.path).filter(isAgentInstruction);
  if (restored.length > 0 && recorded.state !== 'ready')
    await restoreFromBase(ctx, repository, folder, facts.mergeBase, restored);
  const whole = await patchOf(ctx.forge, repository, change.base, change.head, { maxBytes: 16 * 1024 * 1024 });
  // Beside the clone, where no sandbox lets its agent write: a relaunched reviewer cannot have put a link there.
  const patchPath = join(folder.root, 'review', 'change.patch');
  await mkdir(join(folder.root, 'review'), { recursive: true, mode: 0o755 });
  await writeFile(patchPath, whole.text, { mode: 0o644 });
  await ctx.store.tx((tx) => markWorkFolder(tx, { ownerKey, state: 'ready', actor }));
  return {
    folder,
    files: facts.files.map((file) => file.path),
    restored,
    patch: whole.text.slice(0, maxPromptPatch),
    isPatchCut: whole.isCut || whole.text.length > maxPromptPatch,
    patchPath,
  };
}

/** Runs inside the sandbox, as every command in a clone does. */
async function restoreFromBase(
  ctx: AppContext,
  repository: Repository,
  folder: WorkFolder,
  base: string,
  paths: readonly string[],
): Promise<void> {
  const inside = insideOf(ctx);
  const env = workFolderEnvironment(folder, { inside });
  const profile = workFolderProfile('setup', repository, folder, { inside, env });
  const script =
    'for path in "$@"; do git checkout -q "$BASE" -- "$path" 2>/dev/null || git rm -q -f --ignore-unmatch -- "$path"; done';
  const outcome = await runInSandbox(
    inside.sandbox,
    { ...profile, env: { ...env, BASE: base } },
    ['/bin/sh', '-c', script, 'restore', ...paths],
    {
      timeoutMs: 60_000,
      maxOutputBytes: 64 * 1024,
      outputPath: join(folder.root, 'restore.log'),
    },
  );
  if (outcome.exitCode !== 0)
    throw new Fault('restore_failed', `Agent instructions could not be put back to the base: ${outcome.outputTail}`);
}
