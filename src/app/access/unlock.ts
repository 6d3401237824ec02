import { type Actor, newId, ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import type { UnlockView } from '../../wire/index.ts';
import { hashSecret, newSecret } from './secrets.ts';

/** An open terminal closes after 8 h, or after 1 h without use (design 4). */
export const unlockTtlMs = 8 * 60 * 60 * 1000;
export const unlockIdleMs = 60 * 60 * 1000;

/** Opens a terminal for the operator whose passphrase was just verified. Refuses `wrong-state` without a working sandbox. */
export async function openUnlock(
  store: Store,
  userId: string,
  actor: Actor,
  sandboxHolds: boolean,
): Promise<Result<UnlockView>> {
  if (!sandboxHolds) {
    return refuse(
      'wrong-state',
      'unlock_off',
      'Without a working sandbox an agent could read the token of an open terminal, so "unlock" is off: give the passphrase with each decision.',
    );
  }
  const token = newSecret();
  const expiresAt = await store.tx(async (tx) => {
    const id = newId();
    await tx.db
      .insertInto('unlock')
      .values({
        id,
        token_hash: hashSecret(token),
        user_id: userId,
        created_at: tx.now,
        last_used_at: tx.now,
        expires_at: tx.now + unlockTtlMs,
        ended_at: null,
      })
      .execute();
    await tx.emit({ kind: 'access.unlocked', actor, subject: { kind: 'user', id: userId }, facts: { unlock_id: id } });
    return tx.now + unlockTtlMs;
  });
  return ok({ token, expiresAt: toRfc3339(expiresAt), idleMs: unlockIdleMs });
}

/** Whose open terminal it is; notes the use. `undefined` when it is none, too old, or was idle too long. */
export async function useUnlock(store: Store, token: string): Promise<{ userId: string; name: string } | undefined> {
  return store.tx(async (tx) => {
    const row = await tx.db
      .updateTable('unlock')
      .set({ last_used_at: tx.now })
      .where('token_hash', '=', hashSecret(token))
      .where('ended_at', 'is', null)
      .where('expires_at', '>', tx.now)
      .where('last_used_at', '>', tx.now - unlockIdleMs)
      .returning('user_id')
      .executeTakeFirst();
    if (!row) return undefined;
    const user = await tx.db
      .selectFrom('user_account')
      .select('name')
      .where('id', '=', row.user_id)
      .where('disabled_at', 'is', null)
      .executeTakeFirst();
    return user && { userId: row.user_id, name: user.name };
  });
}

/** Closes every open terminal (`chantier unlock --end`); gives their number. */
export async function endUnlocks(store: Store, actor: Actor): Promise<number> {
  return store.tx(async (tx) => {
    const rows = await tx.db
      .updateTable('unlock')
      .set({ ended_at: tx.now })
      .where('ended_at', 'is', null)
      .returning(['id', 'user_id'])
      .execute();
    for (const row of rows) {
      await tx.emit({
        kind: 'access.locked',
        actor,
        subject: { kind: 'user', id: row.user_id },
        facts: { unlock_id: row.id },
      });
    }
    return rows.length;
  });
}
