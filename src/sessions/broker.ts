import { type Actor, canonicalJson, type Json, newId, ok, refuse, type Refused, type Result } from '../kernel/index.ts';
import type { Store, Tx } from '../store/index.ts';
import { emitOf } from './events.ts';
import { fields, type OutgoingType } from './fields.ts';
import { activeStates } from './states.ts';
import { type Db, findByEndpoint, type MessageRow, type SessionRow } from './session-store.ts';

/** A session as its peers and the supervisor see it in the broker. */
export interface Peer {
  peer_id: string;
  work_key: string;
  agent: string;
  role: SessionRow['role'];
  summary: string | null;
  last_seen_at: number | null;
}

/** A message as handed out; the same one comes again until it is acknowledged. */
export interface BrokerMessage {
  id: string;
  from: string;
  type: string;
  payload: Json;
  sent_at: number;
}

/** The one channel between supervisor and sessions (S-3, S-49). Every failure is a refusal `unreachable`, never swallowed (S-51). */
export interface Broker {
  listPeers(): Promise<Result<Peer[]>>;
  sendMessage(peerId: string, type: OutgoingType, payload: Json): Promise<Result<{ id: string }>>;
  /** What waits for the peer, oldest first; nothing is consumed by reading. */
  getMessages(peerId: string): Promise<Result<BrokerMessage[]>>;
  ackMessages(peerId: string, ids: readonly string[]): Promise<Result<{ acked: number }>>;
  status(): BrokerStatus;
  reconnect(): Promise<'OK' | 'STILL_DEGRADED'>;
}

export type BrokerStatus = 'UP' | 'DEGRADED' | 'DOWN';

/** The broker over the store: typed, acknowledged, at least once, fenced by generation (decision 10). */
export function createBroker(store: Store, actor: Actor): Broker {
  let status: BrokerStatus = 'UP';
  async function guarded<T>(use: () => Promise<Result<T>>): Promise<Result<T>> {
    try {
      const result = await use();
      status = 'UP';
      return result;
    } catch (error) {
      status = 'DEGRADED';
      return brokerDown(error);
    }
  }
  return {
    listPeers: () => guarded(async () => ok(await listPeers(store.read))),
    sendMessage: (peerId, type, payload) =>
      guarded(() =>
        store.tx(async (tx) => {
          const to = await findByEndpoint(tx.db, peerId);
          if (!to) return unknownPeer(peerId);
          return ok({ id: await storeMessage(tx, to, { from: actor.id, type, payload, actor }) });
        }),
      ),
    getMessages: (peerId) =>
      guarded(() =>
        store.tx(async (tx) => {
          const session = await findByEndpoint(tx.db, peerId);
          return session ? ok(await peekMessages(tx, session)) : unknownPeer(peerId);
        }),
      ),
    ackMessages: (peerId, ids) =>
      guarded(() =>
        store.tx(async (tx) => {
          const session = await findByEndpoint(tx.db, peerId);
          return session ? ok({ acked: await ackMessages(tx, session, ids) }) : unknownPeer(peerId);
        }),
      ),
    status: () => status,
    async reconnect() {
      const listed = await guarded(async () => ok(await listPeers(store.read)));
      return listed.ok ? 'OK' : 'STILL_DEGRADED';
    },
  };
}

/** Sessions whose peer was seen and whose process is not known to be gone. */
export async function listPeers(db: Db): Promise<Peer[]> {
  const rows = await db
    .selectFrom('session')
    .select(['endpoint_id', 'work_key', 'agent', 'role', 'summary', 'last_seen_at'])
    .where('state', 'in', activeStates)
    .where('process', '=', 'live')
    .where('peer_seen_at', 'is not', null)
    .orderBy('created_at')
    .execute();
  return rows.map(({ endpoint_id, ...peer }) => ({ peer_id: endpoint_id, ...peer }));
}

/** Stores a message for a session, fenced by its present generation; gives its id. */
export async function storeMessage(
  tx: Tx,
  to: SessionRow,
  message: { from: string; type: OutgoingType; payload: Json; actor: Actor },
): Promise<string> {
  const from = fields.peerId(message.from);
  if (!from.ok) throw new Error(from.refusal.message);
  const id = newId();
  await tx.db
    .insertInto('message')
    .values({
      id,
      to_session_id: to.id,
      to_generation: to.generation,
      from_endpoint: from.value,
      type: message.type,
      payload: canonicalJson(message.payload),
      created_at: tx.now,
      peeked_at: null,
      acked_at: null,
    })
    .execute();
  await emitOf(
    tx,
    to,
    'message.sent',
    message.actor,
    { message_type: message.type, from: from.value, to: to.endpoint_id },
    { kind: 'message', id },
  );
  tx.wake(messagesTopic, to.id);
  return id;
}

/** How many unread messages a session may have; a peer that is not read is not written to for ever. */
export const maxWaiting = 100;

/** How many messages wait for the session. */
export async function waitingCount(tx: Tx, session: SessionRow): Promise<number> {
  const row = await waitingFor(tx, session)
    .select((eb) => eb.fn.countAll().as('count'))
    .executeTakeFirstOrThrow();
  return Number(row.count);
}

/** Woken with the receiving session's id. */
export const messagesTopic = 'messages';

/** Hands out what waits for the session's present generation; it comes again until acknowledged. */
export async function peekMessages(tx: Tx, session: SessionRow): Promise<BrokerMessage[]> {
  const rows = await waitingFor(tx, session).selectAll().orderBy('ord').limit(100).execute();
  const fresh = rows.filter((row) => row.peeked_at === null).map((row) => row.id);
  if (fresh.length > 0)
    await tx.db.updateTable('message').set({ peeked_at: tx.now }).where('id', 'in', fresh).execute();
  return rows.map(toMessage);
}

/** Acknowledges messages of this session; ids of others are ignored. Gives how many were open. */
export async function ackMessages(tx: Tx, session: SessionRow, ids: readonly string[]): Promise<number> {
  if (ids.length === 0) return 0;
  const acked = await tx.db
    .updateTable('message')
    .set({ acked_at: tx.now })
    .where('to_session_id', '=', session.id)
    .where('id', 'in', [...ids])
    .where('acked_at', 'is', null)
    .returning('id')
    .execute();
  for (const { id } of acked)
    await emitOf(
      tx,
      session,
      'message.acked',
      { kind: 'session', id: session.id, generation: session.generation },
      {},
      { kind: 'message', id },
    );
  return acked.length;
}

function waitingFor(tx: Tx, session: SessionRow) {
  return tx.db
    .selectFrom('message')
    .where('to_session_id', '=', session.id)
    .where('acked_at', 'is', null)
    .where((eb) => eb.or([eb('to_generation', 'is', null), eb('to_generation', '=', session.generation)]));
}

function toMessage(row: MessageRow): BrokerMessage {
  return {
    id: row.id,
    from: row.from_endpoint,
    type: row.type,
    payload: JSON.parse(row.payload) as Json,
    sent_at: row.created_at,
  };
}

function unknownPeer(peerId: string): Refused {
  return refuse('not-found', 'unknown_peer', `There is no peer ${peerId}; list_peers names those that live.`, {
    peerId,
  });
}

/** What every surface says while the broker is away (ERR-06). */
export const brokerDownText = 'Broker unavailable — degraded mode';

/** ERR-06. */
export function brokerDown(error: unknown): Refused {
  return refuse('unreachable', 'broker_unavailable', brokerDownText, {
    cause: error instanceof Error ? error.message.slice(0, 200) : 'unknown',
  });
}
