import type { ExpressionBuilder } from 'kysely';

import { forLog, ok, refuse, type Result, systemActor } from '../kernel/index.ts';
import { openDecision } from './decision-requests.ts';
import { effectsTopic } from './effects.ts';
import type { EffectRow } from './schema/core.ts';
import type { Schema } from './schema/index.ts';
import type { Store, Tx } from './store.ts';

const actor = systemActor('effects');

/** Ends every claim: at the start of an embedded server, where nobody else can be trying. */
export async function releaseClaims(store: Store): Promise<void> {
  await store.tx((tx) =>
    tx.db
      .updateTable('effect')
      .set({ claimed_by: null, claimed_until: null })
      .where('claimed_by', 'is not', null)
      .execute(),
  );
}

/**
 * Claims up to `limit` due effects of a kind and counts their tries. One whose tries are used up (the server died in the
 * last) becomes a dead letter instead.
 */
export async function claimDue(
  store: Store,
  claim: { kind: string; limit: number; executor: string; claimMs: number; maxAttempts: number },
): Promise<EffectRow[]> {
  const some = await store.read
    .selectFrom('effect')
    .select('id')
    .where(isDue(store.clock.now(), [claim.kind]))
    .limit(1)
    .execute();
  if (some.length === 0) return [];
  return store.tx(async (tx) => {
    let due = tx.db
      .selectFrom('effect')
      .selectAll()
      .where(isDue(tx.now, [claim.kind]))
      .orderBy('not_before')
      .orderBy('created_at')
      .orderBy('id')
      .limit(claim.limit);
    if (tx.dialect === 'postgres') due = due.forUpdate().skipLocked();
    const claimed: EffectRow[] = [];
    for (const row of await due.execute()) {
      if (row.attempts >= claim.maxAttempts) {
        await bury(tx, row, row.last_error ?? 'the server stopped in the middle of the last try');
        continue;
      }
      const mine = {
        attempts: row.attempts + 1,
        claimed_by: claim.executor,
        claimed_until: tx.now + claim.claimMs,
      };
      await tx.db.updateTable('effect').set(mine).where('id', '=', row.id).execute();
      claimed.push({ ...row, ...mine });
    }
    return claimed;
  });
}

/** When the next pending effect of these kinds may be tried, epoch ms. */
export async function nextDueAt(store: Store, kinds: readonly string[]): Promise<number | undefined> {
  if (kinds.length === 0) return undefined;
  const now = store.clock.now();
  const row = await store.read
    .selectFrom('effect')
    .select((eb) => [
      eb.fn
        .min('not_before')
        .filterWhere((e) => e.or([e('claimed_until', 'is', null), e('claimed_until', '<=', now)]))
        .as('free'),
      eb.fn.min('claimed_until').filterWhere('claimed_until', '>', now).as('claimed'),
    ])
    .where('state', '=', 'pending')
    .where('kind', 'in', [...kinds])
    .executeTakeFirst();
  const times = [row?.free, row?.claimed].filter((at): at is number => typeof at === 'number');
  return times.length === 0 ? undefined : Math.min(...times);
}

/** The effect was done; nothing happens when another executor has taken it over meanwhile. */
export async function effectDone(tx: Tx, row: EffectRow, executor: string): Promise<void> {
  await tx.db
    .updateTable('effect')
    .set({ state: 'done', done_at: tx.now, last_error: null, claimed_by: null, claimed_until: null })
    .where('id', '=', row.id)
    .where('state', '=', 'pending')
    .where('claimed_by', '=', executor)
    .execute();
}

/** The try failed: again after `retryInMs`, or dead. */
export async function effectFailed(
  tx: Tx,
  row: EffectRow,
  executor: string,
  failure: { error: unknown; retryInMs: number; dead: boolean },
): Promise<void> {
  const message = forLog(failure.error instanceof Error ? failure.error.message : failure.error, 1000);
  const mine = await tx.db
    .updateTable('effect')
    .set({ not_before: tx.now + failure.retryInMs, last_error: message, claimed_by: null, claimed_until: null })
    .where('id', '=', row.id)
    .where('state', '=', 'pending')
    .where('claimed_by', '=', executor)
    .returning('id')
    .executeTakeFirst();
  if (mine && failure.dead) await bury(tx, row, message);
}

async function bury(tx: Tx, row: EffectRow, message: string): Promise<void> {
  await tx.db
    .updateTable('effect')
    .set({ state: 'dead', last_error: message, claimed_by: null, claimed_until: null })
    .where('id', '=', row.id)
    .execute();
  await tx.emit({
    kind: 'effect.dead',
    actor,
    subject: { kind: 'effect', id: row.id },
    facts: { effect_kind: row.kind, attempts: row.attempts },
  });
  await openDecision(tx, {
    kind: 'dead_letter',
    subject: { kind: 'effect', id: row.id },
    title: `${row.kind} failed ${row.attempts} times and was given up`,
    detail: { key: row.key, kind: row.kind, attempts: row.attempts, error: message },
    actor,
  });
}

/** Lets a dead effect be tried again from the start: what `approved` on its decision does. Refuses when it is not dead. */
export async function reviveEffect(tx: Tx, id: string): Promise<Result<undefined>> {
  const row = await tx.db
    .updateTable('effect')
    .set({ state: 'pending', attempts: 0, not_before: tx.now })
    .where('id', '=', id)
    .where('state', '=', 'dead')
    .returning('id')
    .executeTakeFirst();
  if (!row) return refuse('wrong-state', 'effect_not_dead', `Effect ${id} is not a dead letter.`, { id });
  tx.wake(effectsTopic);
  return ok();
}

function isDue(now: number, kinds: readonly string[]) {
  return (eb: ExpressionBuilder<Schema, 'effect'>) =>
    eb.and([
      eb('state', '=', 'pending'),
      eb('kind', 'in', [...kinds]),
      eb('not_before', '<=', now),
      eb.or([eb('claimed_until', 'is', null), eb('claimed_until', '<=', now)]),
    ]);
}
