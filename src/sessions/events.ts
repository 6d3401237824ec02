import type { Actor, Json } from '../kernel/index.ts';
import type { EventKind, Tx } from '../store/index.ts';
import type { SessionRow } from './session-store.ts';

/** Appends an event about a session; facts never hold texts (S-62). */
export async function emitOf(
  tx: Tx,
  session: Pick<SessionRow, 'id' | 'project_id' | 'work_key' | 'generation'>,
  kind: EventKind,
  actor: Actor,
  facts: Record<string, Json> = {},
  subject: { kind: string; id: string } = { kind: 'session', id: session.id },
): Promise<string> {
  return tx.emit({
    kind,
    actor,
    subject,
    sessionId: session.id,
    ...(session.project_id ? { projectId: session.project_id } : {}),
    facts: { work_key: session.work_key, generation: session.generation, ...facts },
  });
}
