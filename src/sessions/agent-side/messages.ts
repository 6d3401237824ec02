import { ok, refuse, type Result } from '../../kernel/index.ts';
import { onceForKey, type Tx } from '../../store/index.ts';
import {
  ackMessages,
  type BrokerMessage,
  listPeers,
  maxWaiting,
  peekMessages,
  type Peer,
  storeMessage,
  waitingCount,
} from '../broker.ts';
import { fields } from '../fields.ts';
import { listOutside, outsidePrefix, sendToOutside } from '../peers/index.ts';
import type { SessionContext } from '../ports.ts';
import { findByEndpoint, type SessionRow, type TokenHolder } from '../session-store.ts';
import { actorOf, asAgent, lockHolder, mayTalk } from './holder.ts';

/** Somebody that a session may write to: another author, or a client of the claude-peers port. */
export type Reachable = Omit<Peer, 'role' | 'work_key'> & { work_key: string | null; is_outside: boolean };

/** `list_peers`: the other authors that live, and the outside clients of this node, by their broker address. */
export async function listPeersFor(ctx: SessionContext, holder: TokenHolder): Promise<Result<Reachable[]>> {
  const may = mayTalk(holder, 'list peers');
  if (!may.ok) return may;
  const peers = (await listPeers(ctx.store.read)).filter(
    (peer) => peer.role === 'author' && peer.work_key !== holder.workKey,
  );
  const outside = await listOutside(ctx);
  return ok([
    ...peers.map(({ peer_id, work_key, agent, summary, last_seen_at }) => ({
      peer_id,
      work_key,
      agent,
      summary,
      last_seen_at,
      is_outside: false,
    })),
    ...outside.map((peer) => ({
      peer_id: `${outsidePrefix}${peer.id}`,
      work_key: null,
      agent: 'claude-peers',
      summary: peer.summary,
      last_seen_at: peer.last_seen_at,
      is_outside: true,
    })),
  ]);
}

/**
 * `send_message`: stored once for its key, for another author's present generation, which gets it with `check_messages`, or
 * for an outside client (S-3, decision 10). Refuses an inbox with 100 unread messages.
 */
export async function sendMessage(
  ctx: SessionContext,
  holder: TokenHolder,
  message: { to: unknown; text: unknown; key: string },
): Promise<Result<{ id: string }>> {
  return asAgent(ctx.store, holder, 'TEXT', async (tx) => {
    const may = mayTalk(holder, 'send messages');
    if (!may.ok) return may;
    const to = fields.peerId(message.to);
    if (!to.ok) return to;
    const text = fields.answerText(message.text);
    if (!text.ok) return text;
    const session = await lockHolder(tx, holder);
    if (!session.ok) return session;
    const request = {
      scope: `session:${holder.sessionId}:${holder.generation}`,
      key: message.key,
      command: 'agent.message.send',
      payload: { to: to.value, text: text.value },
    };
    const sent = await onceForKey<{ id: string }>(tx, request, () =>
      deliver(tx, holder, session.value, { to: to.value, text: text.value }),
    );
    return sent.ok ? ok(sent.value.value) : sent;
  });
}

async function deliver(
  tx: Tx,
  holder: TokenHolder,
  from: SessionRow,
  { to, text }: { to: string; text: string },
): Promise<Result<{ id: string }>> {
  const actor = actorOf(holder);
  if (to.startsWith(outsidePrefix)) return sendToOutside(tx, { to, from: from.endpoint_id, text, actor });
  const receiver = await findByEndpoint(tx.db, to);
  if (!receiver || receiver.role !== 'author')
    return refuse('not-found', 'unknown_peer', `There is no peer of that address; list_peers names those that live.`);
  if ((await waitingCount(tx, receiver)) >= maxWaiting)
    return refuse('quota', 'inbox_full', 'That peer has too many unread messages; wait until it has read them.');
  const id = await storeMessage(tx, receiver, { from: from.endpoint_id, type: 'TEXT', payload: { text }, actor });
  return ok({ id });
}

/** `check_messages`: acknowledges `ack` (what came before) and hands out what waits; unacknowledged ones come again. */
export async function checkMessages(
  ctx: SessionContext,
  holder: TokenHolder,
  request: { ack?: readonly string[] } = {},
): Promise<Result<BrokerMessage[]>> {
  return asAgent(ctx.store, holder, 'TEXT', async (tx) => {
    const may = mayTalk(holder, 'read messages');
    if (!may.ok) return may;
    const session = await lockHolder(tx, holder);
    if (!session.ok) return session;
    await ackMessages(tx, session.value, request.ack ?? []);
    return ok(await peekMessages(tx, session.value));
  });
}
