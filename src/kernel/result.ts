import type { Json } from './json.ts';

/**
 * What a refusal is about; closed. Each kind has one HTTP status and one exit code (`refusalOutcomes`), so that an edge
 * never decides that itself. Source: design section 8 (exit codes), style "Errors".
 */
export type RefusalKind =
  | 'invalid'
  | 'not-found'
  | 'wrong-state'
  | 'duplicate'
  | 'held'
  | 'idempotency-conflict'
  | 'quota'
  | 'budget'
  | 'not-permitted'
  | 'proof-required'
  | 'unreachable'
  | 'not-landed'
  | 'still-open';

/** HTTP status and process exit code of each kind (design section 8). */
export const refusalOutcomes: Readonly<Record<RefusalKind, { status: number; exitCode: number }>> = {
  invalid: { status: 422, exitCode: 2 },
  'not-found': { status: 404, exitCode: 8 },
  'wrong-state': { status: 409, exitCode: 6 },
  duplicate: { status: 409, exitCode: 4 },
  held: { status: 409, exitCode: 4 },
  'idempotency-conflict': { status: 409, exitCode: 5 },
  quota: { status: 429, exitCode: 3 },
  budget: { status: 402, exitCode: 3 },
  'not-permitted': { status: 403, exitCode: 9 },
  'proof-required': { status: 403, exitCode: 9 },
  unreachable: { status: 503, exitCode: 7 },
  'not-landed': { status: 409, exitCode: 10 },
  'still-open': { status: 408, exitCode: 11 },
};

/** A "no" that the caller may act on: what happened, to which id, and what to do next. Never thrown inside a use case. */
export interface Refusal {
  kind: RefusalKind;
  /** Stable machine word, finer than `kind`: `quota_exceeded`, `dag_cycle`, `unsafe_mode`. */
  code: string;
  /** One sentence for a human, with the id and the next step. */
  message: string;
  /** Ids, states and numbers; no free text of agents or users. */
  facts?: Record<string, Json>;
}

export type Ok<T> = { ok: true; value: T };
export type Refused = { ok: false; refusal: Refusal };
/** The answer of a use case. A transaction whose answer is `Refused` is rolled back (`store.tx`). */
export type Result<T> = Ok<T> | Refused;

export function ok<T>(value: T): Ok<T>;
export function ok(): Ok<undefined>;
export function ok<T>(value?: T): Ok<T | undefined> {
  return { ok: true, value };
}

/** Builds a refusal value. */
export function refuse(kind: RefusalKind, code: string, message: string, facts?: Record<string, Json>): Refused {
  return { ok: false, refusal: facts ? { kind, code, message, facts } : { kind, code, message } };
}

export function isRefused(value: unknown): value is Refused {
  return typeof value === 'object' && value !== null && 'ok' in value && value.ok === false && 'refusal' in value;
}

/** A failure of the world (I/O, a remote agent); thrown. `retryable` says whether trying again can help. */
export class Fault extends Error {
  readonly code: string;
  readonly retryable: boolean;
  readonly facts: Record<string, Json>;

  constructor(
    code: string,
    message: string,
    options: { retryable?: boolean; facts?: Record<string, Json>; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'Fault';
    this.code = code;
    this.retryable = options.retryable ?? false;
    this.facts = options.facts ?? {};
  }
}

/** Unwraps a result where a refusal would be a bug; throws `Error` with the refusal's message. */
export function mustOk<T>(result: Result<T>): T {
  if (!result.ok) throw new Error(`unexpected refusal ${result.refusal.code}: ${result.refusal.message}`);
  return result.value;
}
