import type { Json, Result } from '../kernel/index.ts';
import { onceForKey, type Store, type Tx } from '../store/index.ts';
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

/** Drops members that are `undefined`, as JSON does. */
function asJson(value: unknown): Json {
  return JSON.parse(JSON.stringify(value ?? null)) as Json;
}
