import { existsSync } from 'node:fs';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import { type SessionRow, toSession } from '../../sessions/index.ts';
import type { SessionFolderView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { findSessionFolder } from '../workspace/session-folder.ts';
import { requireHere } from './require-here.ts';

/** Where a session works; refuses when its folder is gone, which happens after its work was saved. */
export async function readFolder(ctx: AppContext, row: SessionRow): Promise<Result<SessionFolderView>> {
  const here = requireHere(ctx, row);
  if (!here.ok) return here;
  const found = await findSessionFolder(ctx, toSession(row));
  if (!found || !existsSync(found.folder.clone)) {
    return refuse(
      'not-found',
      'no_work_folder',
      `Session ${row.work_key} has no work folder now: it was not made yet, or was removed after its work was saved.`,
    );
  }
  const { clone, branch } = found.folder;
  return ok({ sessionId: row.id, workKey: row.work_key, path: clone, branch: branch ?? null });
}
