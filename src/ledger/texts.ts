import { type Actor, newId, refuse, type Refused, textFault } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';

/** Longest reason of a human (README section 4). */
export const maxReason = 500;

/** An item that texts are kept for. */
export interface TextSubject {
  kind: 'project' | 'job' | 'task';
  id: string;
  projectId: string;
}

/** Keeps the earlier wording of a field that is about to change; empty ones are not kept. */
export async function keepEarlierText(
  tx: Tx,
  subject: TextSubject,
  field: string,
  text: string | null,
  actor: Actor,
): Promise<void> {
  if (text) await insertText(tx, subject, 'earlier', field, text, actor);
}

/** Keeps why a human did something; the event names the verb, the text lies here (design section 5). */
export async function keepReason(
  tx: Tx,
  subject: TextSubject,
  verb: string,
  reason: string | undefined,
  actor: Actor,
): Promise<void> {
  if (reason) await insertText(tx, subject, 'reason', verb, reason, actor);
}

/** Refuses a reason that is missing, too long or holds forbidden characters. */
export function reasonRefusal(reason: string | undefined, verb: string): Refused | undefined {
  const fault = textFault(reason ?? '', { min: 1, max: maxReason });
  if (!fault) return undefined;
  return refuse('invalid', 'reason_required', `Say why you ${verb} it: the reason ${fault}.`);
}

async function insertText(
  tx: Tx,
  subject: TextSubject,
  kind: 'earlier' | 'reason',
  field: string,
  text: string,
  actor: Actor,
): Promise<void> {
  await tx.db
    .insertInto('ledger_text')
    .values({
      id: newId(),
      subject_kind: subject.kind,
      subject_id: subject.id,
      project_id: subject.projectId,
      kind,
      field,
      text,
      by_actor: actor.id,
      at: tx.now,
    })
    .execute();
}
