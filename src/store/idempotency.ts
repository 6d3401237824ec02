import { sql } from 'kysely';

import {
  canonicalJson,
  digestOf,
  idempotencyKeyPattern,
  type Json,
  refuse,
  type Refused,
  type Result,
} from '../kernel/index.ts';
import { markKeyed } from './gather.ts';
import type { Tx } from './store.ts';

/** How long a key is remembered by default: 24 h (S-7). */
export const idempotencyTtlMs = 24 * 60 * 60 * 1000;

/** A mutating command as idempotency sees it. */
export interface KeyedRequest {
  /** Whose keys these are: keys of different principals never meet. */
  scope: string;
  key: string;
  command: string;
  /** The normalised arguments; their canonical JSON is hashed (S-21). */
  payload: Json;
  ttlMs?: number;
}

export type KeyedOutcome<T> = { kind: 'new' } | { kind: 'replay'; value: T } | { kind: 'refused'; refused: Refused };

/**
 * What is known of the key (S-20): `new`; `replay` with the stored answer; or a refusal for a malformed key (S-26) or a
 * key that was used with other arguments (ERR-09). Expired records count as unknown (S-25).
 */
export async function lookUpKey<T>(tx: Tx, request: KeyedRequest): Promise<KeyedOutcome<T>> {
  if (!idempotencyKeyPattern.test(request.key)) {
    return {
      kind: 'refused',
      refused: refuse(
        'invalid',
        'idempotency_key_malformed',
        'The idempotency key is missing or malformed: use 1 to 128 letters, digits, dots, colons, dashes or underscores.',
      ),
    };
  }
  await serialiseKey(tx, request);
  const known = await tx.db
    .selectFrom('idempotency_key')
    .selectAll()
    .where('scope', '=', request.scope)
    .where('key', '=', request.key)
    .where('expires_at', '>', tx.now)
    .executeTakeFirst();
  if (!known) return { kind: 'new' };
  if (known.command === request.command && known.payload_hash === digestOf(request.payload)) {
    return { kind: 'replay', value: JSON.parse(known.result) as T };
  }
  return {
    kind: 'refused',
    refused: refuse(
      'idempotency-conflict',
      'idempotency_conflict',
      `Rejected: idempotency conflict (key ${request.key}, different payload)`,
      { key: request.key },
    ),
  };
}

/**
 * On PostgreSQL, lets one transaction at a time work on a key: a second client with the same key, or the repetition after
 * a lost COMMIT answer, waits for the first to end and then sees its record.
 */
async function serialiseKey(tx: Tx, request: KeyedRequest): Promise<void> {
  if (tx.dialect !== 'postgres') return;
  await sql`select pg_advisory_xact_lock(hashtextextended(${`${request.scope}\n${request.key}`}, 0))`.execute(tx.db);
}

/** Stores the answer under its key, in the transaction of the effect; refusals leave no record (S-22). */
export async function rememberKey(tx: Tx, request: KeyedRequest, value: Json): Promise<void> {
  const row = {
    command: request.command,
    payload_hash: digestOf(request.payload),
    result: canonicalJson(value),
    created_at: tx.now,
    expires_at: tx.now + (request.ttlMs ?? idempotencyTtlMs),
  };
  await tx.db
    .insertInto('idempotency_key')
    .values({ scope: request.scope, key: request.key, ...row })
    .onConflict((conflict) => conflict.columns(['scope', 'key']).doUpdateSet(row))
    .execute();
  markKeyed(tx);
}

/** An answer with whether it is a replay of an earlier one. */
export type Keyed<T> = { value: T; replayed: boolean };

/** Runs `fn` once for its key: the usual order (idempotency first, then everything else, S-18). `T` must survive JSON. */
export async function onceForKey<T extends Json>(
  tx: Tx,
  request: KeyedRequest,
  fn: () => Promise<Result<T>>,
): Promise<Result<Keyed<T>>> {
  const known = await lookUpKey<T>(tx, request);
  if (known.kind === 'refused') return known.refused;
  if (known.kind === 'replay') return { ok: true, value: { value: known.value, replayed: true } };
  const result = await fn();
  if (!result.ok) return result;
  await rememberKey(tx, request, result.value);
  return { ok: true, value: { value: result.value, replayed: false } };
}

/** Removes expired records; gives their number (S-25). */
export async function purgeExpiredKeys(tx: Tx): Promise<number> {
  const result = await tx.db.deleteFrom('idempotency_key').where('expires_at', '<=', tx.now).executeTakeFirst();
  return Number(result.numDeletedRows);
}
