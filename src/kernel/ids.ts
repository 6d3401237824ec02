import { uuidv7 } from 'uuidv7';

declare const brand: unique symbol;

/** A string that names one thing of kind `K`; the brand keeps a task's id out of a session's place. */
export type Id<K extends string> = string & { readonly [brand]: K };

export type ProjectId = Id<'project'>;
export type JobId = Id<'job'>;
export type TaskId = Id<'task'>;
export type AgentId = Id<'agent'>;
export type SessionId = Id<'session'>;
export type EscalationId = Id<'escalation'>;
export type CapabilityId = Id<'capability'>;
export type CallId = Id<'call'>;
export type PullRequestId = Id<'pull-request'>;
export type VerdictId = Id<'verdict'>;
export type LandingId = Id<'landing'>;
export type RepositoryId = Id<'repository'>;
export type DecisionId = Id<'decision'>;
export type OperatorId = Id<'operator'>;

/** A new time-ordered id (UUID version 7). Never used for the order of events: that comes from a sequence (design 2). */
export function newId<T extends string>(): T {
  return uuidv7() as T;
}

/** Letters and digits without look-alikes (no 0/o, 1/l/i), as humans type them in `approve <id>` (G-1). */
const shortAlphabet = '23456789abcdefghjkmnpqrstuvwxyz';

/** A new short id of `length` characters (default 8, about 39 bits) for what a human types. */
export function newShortId<T extends string>(length = 8): T {
  const bytes = crypto.getRandomValues(new Uint8Array(length));
  return Array.from(bytes, (byte) => shortAlphabet[byte % shortAlphabet.length]).join('') as T;
}
