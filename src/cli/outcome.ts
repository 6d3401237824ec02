import { type Json, type Refusal, type RefusalKind, refusalOutcomes } from '../kernel/index.ts';
import type { Problem } from '../wire/index.ts';

/** What a command has to say: one JSON document, the same as text, and its exit code (default 0). */
export interface Outcome {
  json: unknown;
  text: string;
  exitCode?: number;
}

/**
 * Exit codes of every verb (design section 8). `kind` of a refusal gives its code by the kernel's table; a fault or a
 * bug is 1.
 */
export const exitCodes = {
  0: 'done, or a replay of what was done',
  1: 'unexpected, or a check that found a fault',
  2: 'usage or validation',
  3: 'quota or budget',
  4: 'duplicate, or held by another',
  5: 'idempotency conflict',
  6: 'wrong state',
  7: 'server or broker unreachable',
  8: 'not found',
  9: 'not permitted, or no proof',
  10: 'finished without the wanted result',
  11: '--wait ended, still open',
} as const;

/** Ends a command with a message and an exit code; thrown inside commands, caught once in `runCli`. */
export class CommandFailure extends Error {
  readonly exitCode: number;
  readonly problem: { code: string; detail: string } & Record<string, unknown>;

  constructor(exitCode: number, problem: { code: string; detail: string } & Record<string, unknown>) {
    super(problem.detail);
    this.name = 'CommandFailure';
    this.exitCode = exitCode;
    this.problem = problem;
  }
}

/** A refusal of our own as a failure. */
export function failWith(
  kind: RefusalKind,
  code: string,
  message: string,
  facts?: Record<string, Json>,
): CommandFailure {
  return failureOf({ kind, code, message, ...(facts ? { facts } : {}) });
}

/** A refusal of a use case as a failure. */
export function failureOf(refusal: Refusal): CommandFailure {
  const { kind, code, message, facts } = refusal;
  return new CommandFailure(refusalOutcomes[kind].exitCode, {
    code,
    kind,
    detail: message,
    ...(facts ? { facts } : {}),
  });
}

/** A problem body of the server as a failure. */
export function failureOfProblem(problem: Problem): CommandFailure {
  const outcome = (refusalOutcomes as Record<string, { exitCode: number } | undefined>)[problem.kind];
  return new CommandFailure(outcome?.exitCode ?? 1, problem);
}
