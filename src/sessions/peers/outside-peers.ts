import { randomInt } from 'node:crypto';

import { forLog, ok, refuse, type Result, systemActor } from '../../kernel/index.ts';
import type { Schema, Tx } from '../../store/index.ts';
import type { SessionContext } from '../ports.ts';
import type { Db } from '../session-store.ts';
import { hasGone, processMark } from './process-mark.ts';

/** How many outside clients one node takes. */
export const maxOutsidePeers = 64;
/** How long a client that has gone is remembered, and what waits for it kept, ms. */
export const keepGoneMs = 24 * 3_600_000;

/** Who acts for the claude-peers port in the log. */
export const portActor = systemActor('peers-port');

export type OutsidePeerRow = Schema['outside_peer'];

/** What a client says of itself when it registers. */
export interface OutsideRegistration {
  pid: number;
  cwd: string;
  git_root: string | null;
  tty: string | null;
  summary: string;
}

/**
 * `/register`: a new id for the client. One that registered before with the same pid is replaced. What waits for it, and for
 * clients that have gone from the same folder, is the new one's: a message outlives the restart of its receiver (their issue 37).
 */
export async function registerOutside(
  ctx: SessionContext,
  client: OutsideRegistration,
): Promise<Result<{ id: string }>> {
  await reapOutside(ctx);
  return ctx.store.tx(async (tx) => {
    await markGone(
      tx,
      (await living(tx.db, ctx.nodeId)).filter((peer) => peer.pid === client.pid),
    );
    const count = (await living(tx.db, ctx.nodeId)).length;
    if (count >= maxOutsidePeers)
      return refuse('quota', 'too_many_peers', `${count} clients are registered already, at most ${maxOutsidePeers}.`);
    const id = newPeerId();
    await tx.db
      .insertInto('outside_peer')
      .values({
        ...client,
        id,
        node_id: ctx.nodeId,
        process_mark: processMark(client.pid) ?? null,
        registered_at: tx.now,
        last_seen_at: tx.now,
        gone_at: null,
      })
      .execute();
    await inherit(tx, ctx.nodeId, client, id);
    const subject = { kind: 'peer', id };
    await tx.emit({ kind: 'peer.registered', actor: portActor, subject, facts: { pid: client.pid } });
    return ok({ id });
  });
}

async function inherit(tx: Tx, nodeId: string, client: OutsideRegistration, id: string): Promise<void> {
  const gone = await tx.db
    .selectFrom('outside_peer')
    .select('id')
    .where('node_id', '=', nodeId)
    .where('gone_at', 'is not', null)
    .where((eb) => eb.or([eb('pid', '=', client.pid), eb('cwd', '=', client.cwd)]))
    .execute();
  if (gone.length === 0) return;
  await tx.db
    .updateTable('outside_message')
    .set({ to_peer: id, polled_at: null })
    .where('delivered_at', 'is', null)
    .where(
      'to_peer',
      'in',
      gone.map((peer) => peer.id),
    )
    .execute();
}

/** `/heartbeat`; of a client that has gone it is not heard, so that one without an agent cannot keep itself alive. */
export async function heartbeatOutside(ctx: SessionContext, id: string): Promise<void> {
  await ctx.store.tx((tx) =>
    tx.db
      .updateTable('outside_peer')
      .set({ last_seen_at: tx.now })
      .where('id', '=', id)
      .where('gone_at', 'is', null)
      .execute(),
  );
}

/** `/set-summary`. */
export async function setOutsideSummary(ctx: SessionContext, id: string, summary: string): Promise<void> {
  await ctx.store.tx((tx) =>
    tx.db.updateTable('outside_peer').set({ summary }).where('id', '=', id).where('gone_at', 'is', null).execute(),
  );
}

/** `/unregister`. */
export async function unregisterOutside(ctx: SessionContext, id: string): Promise<void> {
  await ctx.store.tx(async (tx) => {
    const peer = await findOutside(tx.db, id);
    if (peer) await markGone(tx, [peer]);
  });
}

/** The clients of this node that live, oldest first. */
export async function listOutside(ctx: SessionContext): Promise<OutsidePeerRow[]> {
  return living(ctx.store.read, ctx.nodeId);
}

/** Marks those whose process or agent has gone; what waits for them is kept. */
export async function reapOutside(ctx: SessionContext): Promise<void> {
  const gone = (await listOutside(ctx)).filter((peer) => hasGone(peer.pid, peer.process_mark));
  if (gone.length > 0) await ctx.store.tx((tx) => markGone(tx, gone));
}

/** Marks every client of this node as gone: the port was closed by its setting. */
export async function dismissOutside(ctx: SessionContext): Promise<void> {
  const all = await listOutside(ctx);
  if (all.length > 0) await ctx.store.tx((tx) => markGone(tx, all));
}

/** Forgets what is older than a day: messages that nobody fetched, and clients that have gone. */
export async function forgetOutside(ctx: SessionContext): Promise<void> {
  await ctx.store.tx(async (tx) => {
    const before = tx.now - keepGoneMs;
    await tx.db.deleteFrom('outside_message').where('sent_at', '<', before).execute();
    await tx.db
      .deleteFrom('outside_peer')
      .where('gone_at', '<', before)
      .where('id', 'not in', (eb) => eb.selectFrom('outside_message').select('to_peer'))
      .execute();
  });
}

/** The client of this id, while it lives. */
export async function findOutside(db: Db, id: string): Promise<OutsidePeerRow | undefined> {
  return db.selectFrom('outside_peer').selectAll().where('id', '=', id).where('gone_at', 'is', null).executeTakeFirst();
}

/** A text that a client says of itself, on one line and bounded. */
export function outsideWords(text: string, max = 500): string {
  return forLog(text, max);
}

async function living(db: Db, nodeId: string): Promise<OutsidePeerRow[]> {
  return db
    .selectFrom('outside_peer')
    .selectAll()
    .where('node_id', '=', nodeId)
    .where('gone_at', 'is', null)
    .orderBy('registered_at')
    .orderBy('id')
    .execute();
}

async function markGone(tx: Tx, peers: readonly OutsidePeerRow[]): Promise<void> {
  if (peers.length === 0) return;
  const ids = peers.map((peer) => peer.id);
  await tx.db.updateTable('outside_peer').set({ gone_at: tx.now }).where('id', 'in', ids).execute();
}

const alphabet = 'abcdefghijklmnopqrstuvwxyz0123456789';

function newPeerId(): string {
  return Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('');
}
