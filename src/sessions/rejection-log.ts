import { forLog, type Json, toRfc3339 } from '../kernel/index.ts';

/** What of an event the rejection log shows. */
interface LoggedEvent {
  at: number;
  kind: string;
  /** Canonical JSON. */
  facts: string;
}

/** One line of the rejection log (S7.4). */
export interface RejectionLine {
  /** RFC 3339 with `Z`. */
  timestamp: string;
  /** `operator` for a human (S-56), else the session. */
  peer_id: string;
  /** The command in capitals, or the message's type. */
  message_type: string;
  /** The refusal's code, with the amount where there is one: `quota_exceeded (5/5)`. */
  reason: string;
  /** Work key, when known. */
  story_id?: string;
  event: 'COMMAND_REJECTED' | 'MESSAGE_REJECTED';
}

const names: Readonly<Record<string, RejectionLine['event']>> = {
  'command.rejected': 'COMMAND_REJECTED',
  'message.rejected': 'MESSAGE_REJECTED',
};

/** The line for an event, or `undefined` when it is no rejection. Untrusted values were escaped and cut as the event was written; again here. */
export function rejectionLine({ at, kind, facts }: LoggedEvent): RejectionLine | undefined {
  const event = names[kind];
  if (event === undefined) return undefined;
  const { peer_id, message_type, reason, story_id } = JSON.parse(facts) as Record<string, Json>;
  return {
    timestamp: toRfc3339(at),
    peer_id: shown(peer_id),
    message_type: shown(message_type),
    reason: shown(reason),
    ...(story_id === undefined || story_id === null ? {} : { story_id: shown(story_id) }),
    event,
  };
}

function shown(value: Json | undefined): string {
  // What is cut already is one character longer, by its ellipsis.
  return value === undefined ? 'unknown' : forLog(value, 201);
}
