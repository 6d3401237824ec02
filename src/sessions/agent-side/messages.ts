import { ok, refuse, type Result } from '../../kernel/index.ts';
import { ackMessages, type BrokerMessage, listPeers, peekMessages, type Peer, storeMessage } from '../broker.ts';
import { fields } from '../fields.ts';
import type { SessionContext } from '../ports.ts';
import { findByEndpoint, type TokenHolder } from '../session-store.ts';
import { actorOf, asAgent, lockHolder, mayTalk } from './holder.ts';

/** `list_peers`: the other authors that live, by their broker address. */
export async function listPeersFor(ctx: SessionContext, holder: TokenHolder): Promise<Result<Peer[]>> {
  const may = mayTalk(holder, 'list peers');
  if (!may.ok) return may;
  const peers = await listPeers(ctx.store.read);
  return ok(peers.filter((peer) => peer.role === 'author' && peer.work_key !== holder.workKey));
}

/** `send_message`: stored for another author's present generation; it gets it with `check_messages` (S-3, decision 10). */
export async function sendMessage(
  ctx: SessionContext,
  holder: TokenHolder,
  message: { to: unknown; text: unknown },
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
    const receiver = await findByEndpoint(tx.db, to.value);
    if (!receiver || receiver.role !== 'author')
      return refuse('not-found', 'unknown_peer', `There is no peer of that address; list_peers names those that live.`);
    const id = await storeMessage(tx, receiver, {
      from: session.value.endpoint_id,
      type: 'TEXT',
      payload: { text: text.value },
      actor: actorOf(holder),
    });
    return ok({ id });
  });
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
