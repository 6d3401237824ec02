import { Fault, type Refusal, refusalOutcomes } from '../kernel/index.ts';
import type { Problem } from '../wire/index.ts';

/** Content type of RFC 9457. */
export const problemType = 'application/problem+json';

/** Titles by kind of refusal: what people read first. */
const titles: Readonly<Record<Refusal['kind'], string>> = {
  invalid: 'The request is not valid',
  'not-found': 'There is no such thing',
  'wrong-state': 'Not possible in this state',
  duplicate: 'It exists already',
  held: 'Somebody else holds it',
  'idempotency-conflict': 'The idempotency key was used for something else',
  quota: 'A quota is used up',
  budget: 'A budget is used up',
  'not-permitted': 'Not permitted',
  'proof-required': 'A human has to prove it',
  unreachable: 'Not reachable',
  'not-landed': 'Not landed',
  'still-open': 'Still open',
};

/** A refusal as a problem body; `status` overrides where HTTP is finer than the kind (400, 401, 405, 413, 421). */
export function problemOf(refusal: Refusal, errors?: Problem['errors'], status?: number): Problem {
  return {
    type: `urn:chantier:problem:${refusal.code}`,
    title: titles[refusal.kind],
    status: status ?? refusalOutcomes[refusal.kind].status,
    code: refusal.code,
    detail: refusal.message,
    kind: refusal.kind,
    ...(refusal.facts ? { facts: refusal.facts } : {}),
    ...(errors ? { errors } : {}),
  };
}

/** A thrown failure as a problem body. A bug shows nothing of itself: it stands in the log under `requestId`. */
export function problemOfError(error: unknown, requestId: string): Problem {
  if (error instanceof Fault) {
    return {
      type: `urn:chantier:problem:${error.code}`,
      title: 'The server could not do it',
      status: error.retryable ? 503 : 500,
      code: error.code,
      detail: error.message,
      kind: error.retryable ? 'unreachable' : 'fault',
      facts: error.facts,
    };
  }
  if (isDiskFull(error)) {
    return {
      type: 'urn:chantier:problem:disk_full',
      title: 'The server could not do it',
      status: 503,
      code: 'disk_full',
      detail: 'The disk is full. Make room and try again.',
      kind: 'unreachable',
    };
  }
  return {
    type: 'urn:chantier:problem:unexpected',
    title: 'Unexpected error',
    status: 500,
    code: 'unexpected',
    detail: `The server hit an error it did not expect; its log has it under ${requestId}.`,
    kind: 'bug',
  };
}

/** A write to a file that found no room, wherever below the use case. */
function isDiskFull(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException | undefined)?.code;
  return code === 'ENOSPC' || code === 'EDQUOT' || (error instanceof Error && isDiskFull(error.cause));
}

/** A problem as an answer. */
export function problemResponse(problem: Problem, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify(problem), {
    status: problem.status,
    headers: { 'content-type': problemType, 'cache-control': 'no-store', ...headers },
  });
}
