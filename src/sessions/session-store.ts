import type { Kysely, Selectable } from 'kysely';

import { newShortId, type SessionId, sha256 } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import { activeStates } from './states.ts';

/** A session as stored. */
export type SessionRow = Selectable<Schema['session']>;
export type EscalationRow = Selectable<Schema['escalation']>;
export type PermissionRequestRow = Selectable<Schema['permission_request']>;
export type PromptRow = Selectable<Schema['prompt']>;
export type MessageRow = Selectable<Schema['message']>;

export type SessionRole = SessionRow['role'];

/** Either a transaction's or the reading connection. */
export type Db = Kysely<Schema>;

/** The session, locked until the transaction ends. */
export async function lockSession(tx: Tx, id: string): Promise<SessionRow | undefined> {
  await tx.lock('session', id);
  return findSession(tx.db, id);
}

export async function findSession(db: Db, id: string): Promise<SessionRow | undefined> {
  return db.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirst();
}

/** The one non-terminal session of a work key (S-5). */
export async function findActiveByWorkKey(db: Db, workKey: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom('session')
    .selectAll()
    .where('work_key', '=', workKey)
    .where('state', 'in', activeStates)
    .executeTakeFirst();
}

/** The active session of a work key, else the last one that ended. */
export async function findLastByWorkKey(db: Db, workKey: string): Promise<SessionRow | undefined> {
  const active = await findActiveByWorkKey(db, workKey);
  if (active) return active;
  return db
    .selectFrom('session')
    .selectAll()
    .where('work_key', '=', workKey)
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
}

/** The session whose broker address this is, while it has not ended. */
export async function findByEndpoint(db: Db, endpointId: string): Promise<SessionRow | undefined> {
  return db
    .selectFrom('session')
    .selectAll()
    .where('endpoint_id', '=', endpointId)
    .where('state', 'in', activeStates)
    .executeTakeFirst();
}

/** How many sessions count against a quota: authors for one, reviewers and QA for the other (S-19, design 7). */
export async function countActive(db: Db, quota: 'author' | 'reviewer', workingOnly = false): Promise<number> {
  let query = db
    .selectFrom('session')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('state', 'in', activeStates)
    .where('role', 'in', quota === 'author' ? ['author'] : ['reviewer', 'qa']);
  if (workingOnly) query = query.where((eb) => eb.or([eb('turn_open', '=', 1), eb('state', '=', 'STARTING')]));
  const row = await query.executeTakeFirstOrThrow();
  return Number(row.count);
}

/** Who a session token belongs to; what the agents' door asks on each request. */
export interface TokenHolder {
  sessionId: SessionId;
  generation: number;
  role: SessionRole;
  workKey: string;
  taskId: string | null;
}

/** The holder of a token, or `undefined` when no living generation has it. */
export function findByToken(db: Db, token: string): Promise<TokenHolder | undefined> {
  return findByTokenHash(db, sha256(token));
}

/** As `findByToken`, for a token whose SHA-256 is at hand. */
export async function findByTokenHash(db: Db, tokenHash: string): Promise<TokenHolder | undefined> {
  const row = await db
    .selectFrom('session')
    .select(['id', 'generation', 'role', 'work_key', 'task_id'])
    .where('token_hash', '=', tokenHash)
    .where('state', 'in', activeStates)
    .where('process', 'in', ['launching', 'live'])
    .executeTakeFirst();
  if (!row) return undefined;
  return {
    sessionId: row.id as SessionId,
    generation: row.generation,
    role: row.role,
    workKey: row.work_key,
    taskId: row.task_id,
  };
}

/** A new broker address; stable for the session's whole life (field case 18). */
export function newEndpointId(): string {
  return `s-${newShortId(10)}`;
}
