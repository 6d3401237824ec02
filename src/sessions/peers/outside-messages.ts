import { randomInt } from 'node:crypto';

import type { Selectable } from 'kysely';

import { type Actor, ok, refuse, type Refused, type Result } from '../../kernel/index.ts';
import type { Schema, Tx } from '../../store/index.ts';
import { maxWaiting, storeMessage, waitingCount } from '../broker.ts';
import { fields } from '../fields.ts';
import type { SessionContext } from '../ports.ts';
import { findByEndpoint } from '../session-store.ts';
import { findOutside, portActor } from './outside-peers.ts';

/** How our sessions see and address an outside client; no endpoint of ours begins so, and no operator is called so. */
export const outsidePrefix = 'outside:';
/** A message that was peeked at and not acknowledged is handed out again after so long, ms (their pull request 60). */
export const redeliverAfterMs = 60_000;
/** How many unread messages one client may have. */
export const maxOutsideWaiting = 500;
/** How many messages one call hands out. */
const pageSize = 100;

export type OutsideMessageRow = Selectable<Schema['outside_message']>;

/** Names that only we may carry: no client of the port can pass for an operator, the supervisor or a session. */
const ownNames = /^(operator|supervisor|sovereign|system|human|chantier|pending-.*|s-[a-z0-9]{1,32})$/i;

/**
 * `/send-message`. To a session of ours it goes the acknowledged way and says that it comes from outside (S-3); to another
 * client it waits until that fetches it. Refuses names that are ours, unknown receivers, texts out of bounds, full inboxes.
 */
export async function sendFromOutside(
  ctx: SessionContext,
  message: { from: string; to: string; text: string },
): Promise<Result<undefined>> {
  const from = fields.peerId(message.from);
  if (!from.ok) return from;
  const text = fields.answerText(message.text);
  if (!text.ok) return text;
  if (ownNames.test(from.value))
    return refuse('not-permitted', 'name_is_taken', `from_id ${from.value} is not a name for clients of this port`);
  return ctx.store.tx(async (tx) => {
    const outside = await findOutside(tx.db, message.to);
    if (outside) {
      const stored = await storeOutside(tx, outside.id, from.value, text.value);
      return stored.ok ? ok() : stored;
    }
    const session = await findByEndpoint(tx.db, message.to);
    if (!session || session.role !== 'author' || session.peer_seen_at === null) return peerNotFound(message.to);
    if ((await waitingCount(tx, session)) >= maxWaiting) return inboxFull(message.to);
    await storeMessage(tx, session, {
      from: `${outsidePrefix}${from.value}`,
      type: 'TEXT',
      payload: { text: text.value },
      actor: portActor,
    });
    return ok();
  });
}

/** A message of one of our sessions to an outside client, inside its transaction. */
export async function sendToOutside(
  tx: Tx,
  message: { to: string; from: string; text: string; actor: Actor },
): Promise<Result<{ id: string }>> {
  const id = message.to.slice(outsidePrefix.length);
  if (!(await findOutside(tx.db, id))) return peerNotFound(message.to);
  const stored = await storeOutside(tx, id, message.from, message.text);
  if (!stored.ok) return stored;
  await tx.emit({
    kind: 'message.sent',
    actor: message.actor,
    subject: { kind: 'message', id: String(stored.value.id) },
    ...(message.actor.kind === 'session' ? { sessionId: message.actor.id } : {}),
    facts: { message_type: 'TEXT', from: message.from, to: message.to },
  });
  return ok({ id: String(stored.value.id) });
}

async function storeOutside(tx: Tx, to: string, from: string, text: string): Promise<Result<{ id: number }>> {
  await tx.lock('outside_peer', to);
  const row = await tx.db
    .selectFrom('outside_message')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('to_peer', '=', to)
    .where('delivered_at', 'is', null)
    .executeTakeFirstOrThrow();
  if (Number(row.count) >= maxOutsideWaiting) return inboxFull(to);
  const id = randomInt(1, 2 ** 47);
  await tx.db
    .insertInto('outside_message')
    .values({ id, to_peer: to, from_id: from, text, sent_at: tx.now, polled_at: null, delivered_at: null })
    .execute();
  return ok({ id });
}

/**
 * `/poll-messages` and `/peek-messages`, oldest first. `consume` marks them delivered at once, as clients of the original
 * expect; without it they come again after 60 s until they are acknowledged. A client that has gone gets nothing, and nothing
 * is taken from the one after it: a left-over tool server swallows no message (their pull request 69).
 */
export async function takeOutside(ctx: SessionContext, id: string, consume: boolean): Promise<OutsideMessageRow[]> {
  return ctx.store.tx(async (tx) => {
    if (!(await findOutside(tx.db, id))) return [];
    await tx.lock('outside_peer', id);
    let query = tx.db
      .selectFrom('outside_message')
      .selectAll()
      .where('to_peer', '=', id)
      .where('delivered_at', 'is', null)
      .orderBy('ord')
      .limit(pageSize);
    if (!consume)
      query = query.where((eb) =>
        eb.or([eb('polled_at', 'is', null), eb('polled_at', '<=', tx.now - redeliverAfterMs)]),
      );
    const rows = await query.execute();
    if (rows.length === 0) return [];
    await tx.db
      .updateTable('outside_message')
      .set(consume ? { delivered_at: tx.now } : { polled_at: tx.now })
      .where(
        'id',
        'in',
        rows.map((row) => row.id),
      )
      .execute();
    return rows;
  });
}

/** `/ack-messages`; gives how many were open. With `id` only those to that client. */
export async function ackOutside(ctx: SessionContext, ids: readonly number[], id?: string): Promise<number> {
  if (ids.length === 0) return 0;
  return ctx.store.tx(async (tx) => {
    let query = tx.db
      .updateTable('outside_message')
      .set({ delivered_at: tx.now })
      .where('id', 'in', [...ids])
      .where('delivered_at', 'is', null)
      .where('polled_at', 'is not', null);
    if (id !== undefined) query = query.where('to_peer', '=', id);
    return Number((await query.executeTakeFirst()).numUpdatedRows);
  });
}

function peerNotFound(to: string): Refused {
  return refuse('not-found', 'unknown_peer', `Peer ${to} not found`);
}

function inboxFull(to: string): Refused {
  return refuse('quota', 'inbox_full', `Peer ${to} has too many unread messages; wait until it has read them.`);
}
