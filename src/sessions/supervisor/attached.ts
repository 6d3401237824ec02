import type { AgentLink, AgentProfile, LivenessEvent } from '../drivers/index.ts';
import type { JournalFreer } from '../host/index.ts';

/** A living generation in the hands of this server. */
export interface Attached {
  sessionId: string;
  generation: number;
  profile: AgentProfile;
  link: AgentLink;
  freer: JournalFreer;
  /** The process has ended and everything about it been told. */
  exited?: Extract<LivenessEvent, { kind: 'exited' }>;
}

/** What this server holds, by session. */
export type AttachedSessions = Map<string, Attached>;
