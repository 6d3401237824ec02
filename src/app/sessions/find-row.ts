import { ok, refuse, type Result } from '../../kernel/index.ts';
import { findLastByWorkKey, findSession, type SessionRow } from '../../sessions/index.ts';
import type { Db } from '../dispatch/db.ts';

/** The row behind an id or a work key: of a work key the living session, else the newest. */
export async function rowOf(db: Db, session: string): Promise<Result<SessionRow>> {
  const row = (await findSession(db, session)) ?? (await findLastByWorkKey(db, session));
  return row
    ? ok(row)
    : refuse(
        'not-found',
        'unknown_session',
        `There is no session ${session}. \`chantier status\` names those that live.`,
        { session },
      );
}
