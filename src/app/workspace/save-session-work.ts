import { setTimeout as sleep } from 'node:timers/promises';

import { systemActor } from '../../kernel/index.ts';
import { recordRescue, saveWork, workFolderByOwner } from '../../forge/index.ts';
import { findSession, toSession } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';
import { insideOf } from './inside.ts';
import { findSessionFolder } from './session-folder.ts';

/**
 * Puts what an ended author left uncommitted or untaken into rescue refs and records them (design section 6). The folder
 * stays. Gives the refs; reviewers' folders hold no work.
 */
export async function saveSessionWork(ctx: AppContext, sessionId: string): Promise<string[]> {
  const row = await findSession(ctx.store.read, sessionId);
  if (!row || row.role !== 'author') return [];
  const place = await findSessionFolder(ctx, toSession(row));
  if (!place?.repository) return [];
  const { folder, repository } = place;
  const saved = await saveWork(ctx.forge, repository, folder, insideOf(ctx));
  if (!saved.ok) {
    ctx.log.warn(
      { session: sessionId, code: saved.refusal.code },
      'work could not be saved; its folder stays as it is',
    );
    return [];
  }
  if (saved.value.refs.length > 0) {
    await ctx.store.tx((tx) =>
      recordRescue(tx, { ownerKey: folder.ownerKey, refs: saved.value.refs, actor: systemActor('work-folders') }),
    );
  }
  return saved.value.refs;
}

/** How long `stop --all` waits for the work of a stopped session to be saved before it says what is known. */
const savedWithinMs = 10_000;

/** Waits until the supervisor has cleared up after an ended session, then gives the rescue refs of its folder. */
export async function awaitSavedWork(ctx: AppContext, sessionId: string): Promise<string[]> {
  const giveUpAt = ctx.store.clock.monotonic() + savedWithinMs;
  for (;;) {
    const row = await findSession(ctx.store.read, sessionId);
    if (!row || row.role !== 'author') return [];
    if (row.wound_up_at !== null || ctx.store.clock.monotonic() > giveUpAt) {
      const recorded = await workFolderByOwner(ctx.store.read, toSession(row).folderKey);
      return recorded?.rescueRefs ?? [];
    }
    await sleep(100);
  }
}
