import { type Json, toRfc3339 } from '../../kernel/index.ts';
import type { SequencedRow } from '../../store/index.ts';
import type { EventView } from '../../wire/index.ts';

/** One event as a client sees it. */
export function eventView(row: SequencedRow): EventView {
  return {
    seq: row.seq,
    id: row.id,
    at: toRfc3339(row.at),
    kind: row.kind,
    actor: { kind: row.actor_kind, id: row.actor_id },
    subject: { kind: row.subject_kind, id: row.subject_id },
    projectId: row.project_id,
    sessionId: row.session_id,
    cause: row.cause,
    facts: JSON.parse(row.facts) as Record<string, Json>,
    hash: row.hash,
  };
}
