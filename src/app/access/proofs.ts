import { type Actor, ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';
import type { ProofView } from '../../wire/index.ts';
import { hashSecret, newSecret } from './secrets.ts';

/** How long a one-use proof lives: time to read a diff's last line, not to wander off. */
export const proofTtlMs = 5 * 60 * 1000;

/** Gives a proof for one decision to the operator whose passphrase was just verified. */
export async function giveProof(store: Store, userId: string, actor: Actor): Promise<ProofView> {
  const secret = newSecret();
  const expiresAt = await store.tx(async (tx) => {
    await tx.db
      .deleteFrom('proof')
      .where('expires_at', '<', tx.now - 24 * 60 * 60 * 1000)
      .execute();
    await tx.db
      .insertInto('proof')
      .values({
        hash: hashSecret(secret),
        user_id: userId,
        created_at: tx.now,
        expires_at: tx.now + proofTtlMs,
        used_at: null,
        used_for: null,
      })
      .execute();
    await tx.emit({ kind: 'access.proof-given', actor, subject: { kind: 'user', id: userId } });
    return tx.now + proofTtlMs;
  });
  return { proof: secret, expiresAt: toRfc3339(expiresAt) };
}

/** Whose unspent proof it is, without spending it; `undefined` when it is none. */
export async function findProof(store: Store, secret: string): Promise<{ userId: string; name: string } | undefined> {
  const row = await store.read
    .selectFrom('proof')
    .innerJoin('user_account', 'user_account.id', 'proof.user_id')
    .select(['proof.user_id', 'user_account.name'])
    .where('proof.hash', '=', hashSecret(secret))
    .where('user_account.disabled_at', 'is', null)
    .executeTakeFirst();
  return row && { userId: row.user_id, name: row.name };
}

/**
 * Spends the proof on the request with digest `usedFor` (method, path, idempotency key). The same request may come again,
 * as after a lost answer; any other is refused. Refuses `proof-required`.
 */
export async function spendProof(
  store: Store,
  secret: string,
  usedFor: string,
  actor: Actor,
): Promise<Result<undefined>> {
  const hash = hashSecret(secret);
  return store.tx(async (tx) => {
    const spent = await tx.db
      .updateTable('proof')
      .set({ used_at: tx.now, used_for: usedFor })
      .where('hash', '=', hash)
      .where('used_at', 'is', null)
      .where('expires_at', '>', tx.now)
      .returning('user_id')
      .executeTakeFirst();
    if (spent) {
      await tx.emit({ kind: 'access.proof-spent', actor, subject: { kind: 'user', id: spent.user_id } });
      return ok();
    }
    const known = await tx.db
      .selectFrom('proof')
      .select(['used_for', 'expires_at'])
      .where('hash', '=', hash)
      .executeTakeFirst();
    if (known?.used_for === usedFor && known.expires_at > tx.now) return ok();
    const why = known?.used_for ? 'was already used' : 'is unknown or too old';
    return refuse('proof-required', 'proof_spent', `This proof ${why}: give the passphrase again.`);
  });
}
