import type { Json, Result } from '../kernel/index.ts';
import { lookUpKey, onceForKey, type Store, type Tx } from '../store/index.ts';
import type { Caller } from './caller.ts';

/**
 * Runs a mutating use case once for the caller's idempotency key, in one transaction (README 2.7). `payload` are its
 * arguments; `fn` gives what is remembered (ids). Repeated with the same arguments the first answer comes back.
 */
export async function once<T extends Json>(
  store: Store,
  caller: Caller,
  command: string,
  payload: unknown,
  fn: (tx: Tx) => Promise<Result<T>>,
): Promise<Result<T>> {
  const result = await store.tx((tx) =>
    onceForKey<T>(tx, { scope: caller.scope, key: caller.idempotencyKey, command, payload: asJson(payload) }, () =>
      fn(tx),
    ),
  );
  return result.ok ? { ok: true, value: result.value.value } : result;
}

/** Whether `once` would give an answer that it has: for work outside the store that must not be done for it again. */
export async function isRepetition(store: Store, caller: Caller, command: string, payload: unknown): Promise<boolean> {
  const request = { scope: caller.scope, key: caller.idempotencyKey, command, payload: asJson(payload) };
  return (await store.tx((tx) => lookUpKey(tx, request))).kind === 'replay';
}

/** Drops members that are `undefined`, as JSON does. */
function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}
