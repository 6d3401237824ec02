import type { Kysely } from 'kysely';

import { type Actor, newId, ok, refuse, type Result } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';

/** One move of a base as recorded. */
export interface BaseMove {
  id: string;
  repositoryId: string;
  kind: 'landing' | 'sync' | 'revert';
  landingId: string | undefined;
  from: string | undefined;
  to: string;
  state: 'prepared' | 'done' | 'lost';
}

/**
 * Writes down that the base is about to become `to`, before the compare-and-set (decision 5 of the review part). Prepared
 * again for the same commit it gives the row that is there. A base that came back to a commit after it had left it (the
 * operator rewrote it) moves anew, with a row of its own.
 */
export async function prepareBaseMove(
  tx: Tx,
  request: {
    repositoryId: string;
    kind: BaseMove['kind'];
    landingId?: string;
    from: string | null;
    to: string;
    actor: Actor;
  },
): Promise<BaseMove> {
  await tx.lock('repository', request.repositoryId);
  const known = await baseMoveTo(tx.db, request.repositoryId, request.to);
  if (known?.state === 'prepared') return known;
  if (known?.state === 'done' && known.landingId === request.landingId && request.kind !== 'sync') return known;
  if (known?.state === 'lost') {
    await tx.db
      .updateTable('base_move')
      .set({ state: 'prepared', settled_at: null })
      .where('id', '=', known.id)
      .execute();
    return { ...known, state: 'prepared' };
  }
  const id = newId<string>();
  await tx.db
    .insertInto('base_move')
    .values({
      id,
      repository_id: request.repositoryId,
      kind: request.kind,
      landing_id: request.landingId ?? null,
      from_commit: request.from,
      to_commit: request.to,
      state: 'prepared',
      created_at: tx.now,
      settled_at: null,
    })
    .execute();
  const facts = { move: request.kind, from: request.from, to: request.to };
  await tx.emit({
    kind: 'base.move-prepared',
    actor: request.actor,
    subject: { kind: 'repository', id: request.repositoryId },
    facts,
  });
  return {
    id,
    repositoryId: request.repositoryId,
    kind: request.kind,
    landingId: request.landingId,
    from: request.from ?? undefined,
    to: request.to,
    state: 'prepared',
  };
}

/** Settles a prepared move: `done` when ancestry says that it happened, `lost` when it did not. Repeated, nothing happens. */
export async function settleBaseMove(
  tx: Tx,
  request: { id: string; state: 'done' | 'lost'; actor: Actor },
): Promise<Result<BaseMove>> {
  const settled = await tx.db
    .updateTable('base_move')
    .set({ state: request.state, settled_at: tx.now })
    .where('id', '=', request.id)
    .where('state', '=', 'prepared')
    .returningAll()
    .executeTakeFirst();
  if (settled) {
    const kind = request.state === 'done' ? 'base.moved' : 'base.move-lost';
    const facts = { move: settled.kind, from: settled.from_commit, to: settled.to_commit };
    await tx.emit({ kind, actor: request.actor, subject: { kind: 'repository', id: settled.repository_id }, facts });
    return ok(toBaseMove(settled));
  }
  const found = await tx.db.selectFrom('base_move').selectAll().where('id', '=', request.id).executeTakeFirst();
  if (!found)
    return refuse('not-found', 'base_move_not_found', `There is no move ${request.id} of a base.`, { id: request.id });
  if (found.state === request.state) return ok(toBaseMove(found));
  return refuse('wrong-state', 'base_move_settled', `Move ${request.id} of the base is ${found.state} already.`, {
    id: request.id,
    state: found.state,
  });
}

/** The last recorded move that ends at `to`. */
export async function baseMoveTo(db: Kysely<Schema>, repositoryId: string, to: string): Promise<BaseMove | undefined> {
  const row = await db
    .selectFrom('base_move')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('to_commit', '=', to)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return row && toBaseMove(row);
}

/** Moves that were prepared and not settled: what a restart has to look at. */
export async function preparedBaseMoves(db: Kysely<Schema>, repositoryId?: string): Promise<BaseMove[]> {
  let query = db.selectFrom('base_move').selectAll().where('state', '=', 'prepared');
  if (repositoryId !== undefined) query = query.where('repository_id', '=', repositoryId);
  return (await query.orderBy('created_at').orderBy('id').execute()).map(toBaseMove);
}

/** All moves of a repository's base, oldest first. */
export async function listBaseMoves(db: Kysely<Schema>, repositoryId: string): Promise<BaseMove[]> {
  const rows = await db
    .selectFrom('base_move')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(toBaseMove);
}

function toBaseMove(row: Schema['base_move']): BaseMove {
  return {
    id: row.id,
    repositoryId: row.repository_id,
    kind: row.kind,
    landingId: row.landing_id ?? undefined,
    from: row.from_commit ?? undefined,
    to: row.to_commit,
    state: row.state,
  };
}
