import { type Actor, newId, toRfc3339 } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import type { LogInView } from '../../wire/index.ts';
import { hashSecret, newSecret } from './secrets.ts';

/** A log-in ends after 12 h, or after 2 h without a request. */
export const logInTtlMs = 12 * 60 * 60 * 1000;
export const logInIdleMs = 2 * 60 * 60 * 1000;
/** How often the last use is written at most: reading must not write each time. */
const touchEveryMs = 60_000;

/** A human who came in by the console's cookie. */
export interface ConsoleUser {
  logInId: string;
  userId: string;
  name: string;
  role: 'operator' | 'viewer';
  proofHash: string | null;
}

/** Starts a log-in for a verified user: the cookie's value and what the tab keeps. Viewers get no proof. */
export async function startLogIn(
  store: Store,
  user: { id: string; name: string; role: 'operator' | 'viewer' },
): Promise<{ cookie: string; view: LogInView }> {
  const cookie = newSecret();
  const proof = user.role === 'operator' ? newSecret() : null;
  const expiresAt = await store.tx(async (tx) => {
    const id = newId();
    await tx.db
      .insertInto('console_session')
      .values({
        id,
        user_id: user.id,
        cookie_hash: hashSecret(cookie),
        proof_hash: proof === null ? null : hashSecret(proof),
        created_at: tx.now,
        last_used_at: tx.now,
        expires_at: tx.now + logInTtlMs,
        ended_at: null,
      })
      .execute();
    const actor: Actor =
      user.role === 'operator'
        ? { kind: 'operator', id: user.id, channel: 'console' }
        : { kind: 'viewer', id: user.id };
    await tx.emit({
      kind: 'access.logged-in',
      actor,
      subject: { kind: 'user', id: user.id },
      facts: { log_in_id: id },
    });
    return tx.now + logInTtlMs;
  });
  const view = { user: { id: user.id, name: user.name, role: user.role }, proof, expiresAt: toRfc3339(expiresAt) };
  return { cookie, view };
}

/** Whose cookie it is, or `undefined`. With `isUse` it counts as a request, which keeps the log-in alive. */
export async function findLogIn(store: Store, cookie: string, isUse: boolean): Promise<ConsoleUser | undefined> {
  const now = store.clock.now();
  const row = await store.read
    .selectFrom('console_session')
    .innerJoin('user_account', 'user_account.id', 'console_session.user_id')
    .select([
      'console_session.id',
      'console_session.user_id',
      'console_session.proof_hash',
      'console_session.last_used_at',
      'user_account.name',
      'user_account.role',
    ])
    .where('console_session.cookie_hash', '=', hashSecret(cookie))
    .where('console_session.ended_at', 'is', null)
    .where('console_session.expires_at', '>', now)
    .where('console_session.last_used_at', '>', now - logInIdleMs)
    .where('user_account.disabled_at', 'is', null)
    .executeTakeFirst();
  if (!row) return undefined;
  if (isUse && row.last_used_at < now - touchEveryMs) {
    await store.tx(async (tx) => {
      await tx.db.updateTable('console_session').set({ last_used_at: tx.now }).where('id', '=', row.id).execute();
    });
  }
  return { logInId: row.id, userId: row.user_id, name: row.name, role: row.role, proofHash: row.proof_hash };
}

/** Ends a log-in; safe twice. */
export async function endLogIn(store: Store, logInId: string, actor: Actor): Promise<void> {
  await store.tx(async (tx) => {
    const ended = await tx.db
      .updateTable('console_session')
      .set({ ended_at: tx.now })
      .where('id', '=', logInId)
      .where('ended_at', 'is', null)
      .returning('user_id')
      .executeTakeFirst();
    if (!ended) return;
    await tx.emit({
      kind: 'access.logged-out',
      actor,
      subject: { kind: 'user', id: ended.user_id },
      facts: { log_in_id: logInId },
    });
  });
}
