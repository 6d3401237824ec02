import { type Actor, ok, refuse, type Result, systemActor, toRfc3339 } from '../../kernel/index.ts';
import type { Store, Tx } from '../../store/index.ts';
import type { UserView } from '../../wire/index.ts';
import { hashSecret, newSecret } from './secrets.ts';
import { addUser, hasOperator } from './users.ts';

/** How long the one-use link of the first run lives (design 4). */
export const firstRunTtlMs = 10 * 60 * 1000;

/** Makes the one-use link's secret; older ones end. Refuses `wrong-state` when an operator exists. */
export async function openFirstRun(store: Store): Promise<Result<{ secret: string; expiresAt: string }>> {
  if (await hasOperator(store)) return refuse('wrong-state', 'operator_exists', 'An operator exists already.');
  const secret = newSecret();
  const expiresAt = await store.tx(async (tx) => {
    await tx.db.deleteFrom('first_run').execute();
    await tx.db
      .insertInto('first_run')
      .values({
        secret_hash: hashSecret(secret),
        created_at: tx.now,
        expires_at: tx.now + firstRunTtlMs,
        used_at: null,
      })
      .execute();
    await tx.emit({
      kind: 'access.first-run-opened',
      actor: systemActor('access'),
      subject: { kind: 'instance', id: 'first-run' },
    });
    return tx.now + firstRunTtlMs;
  });
  return ok({ secret, expiresAt: toRfc3339(expiresAt) });
}

/** Sets the first operator's passphrase by the link's secret, once. */
export async function claimFirstRun(
  store: Store,
  claim: { secret: string; name: string; passphrase: string },
  cost?: number,
): Promise<Result<UserView>> {
  const actor: Actor = { kind: 'operator', id: claim.name.toLowerCase(), channel: 'console' };
  const user = { name: claim.name, role: 'operator' as const, passphrase: claim.passphrase };
  return addUser(store, user, actor, { firstOnly: true, cost, inTx: (tx) => useSecret(tx, claim.secret) });
}

async function useSecret(tx: Tx, secret: string): Promise<Result<undefined>> {
  const used = await tx.db
    .updateTable('first_run')
    .set({ used_at: tx.now })
    .where('secret_hash', '=', hashSecret(secret))
    .where('used_at', 'is', null)
    .where('expires_at', '>', tx.now)
    .returning('secret_hash')
    .executeTakeFirst();
  if (used) return ok();
  return refuse(
    'not-permitted',
    'first_run_link_spent',
    'This link was used or is older than 10 minutes: start "chantier up" again, or use "chantier init".',
  );
}
