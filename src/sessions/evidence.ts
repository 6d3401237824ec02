import { shortHmac } from '../kernel/index.ts';
import type { Db } from './session-store.ts';

/** Which text of a question stands behind an event. */
const texts: Readonly<Record<string, 'question' | 'answer'>> = {
  'escalation.opened': 'question',
  'escalation.answered': 'answer',
};

/** A text by its keyed hash; `null` when the store has it no more. */
export type Evidence = { question: string | null } | { answer: string | null };

/**
 * The texts behind events about questions, by the events' ids: each as the keyed hash of its NFC form (S-63, S-75), never the
 * text (S-62). Who has the text and the key can compute it again; without the key not even "yes" can be guessed.
 */
export async function evidenceOf(
  db: Db,
  key: string,
  events: readonly { id: string; kind: string; subject_id: string }[],
): Promise<Map<string, Evidence>> {
  const about = events.filter(({ kind }) => texts[kind] !== undefined);
  if (about.length === 0) return new Map();
  const rows = await db
    .selectFrom('escalation')
    .select(['id', 'text as question', 'answer'])
    .where('id', 'in', [...new Set(about.map((event) => event.subject_id))])
    .execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return new Map(
    about.map((event) => {
      const which = texts[event.kind] as 'question' | 'answer';
      const text = byId.get(event.subject_id)?.[which] ?? null;
      const hash = text === null ? null : shortHmac(key, text.normalize('NFC'));
      return [event.id, (which === 'question' ? { question: hash } : { answer: hash }) satisfies Evidence];
    }),
  );
}
