import { eventKinds } from '../../../src/store/index.ts';
import { code, type Page, page, table } from './page.ts';

const intro = `The event log is append-only. Each event has a number \`seq\` without gaps, the time, who acted, on what, its kind, what caused
it, and facts: ids, numbers and keyed digests, never free text. Each is chained to the one before by a hash, which
\`chantier audit verify\` checks. \`chantier events --follow\` and \`GET /api/events\` show them.`;

/** Every kind of event with its meaning, by the part before the dot. */
export function eventsPage(): Page {
  const groups = Map.groupBy(Object.entries(eventKinds), ([kind]) => kind.split('.')[0]!);
  const sections = [...groups].map(
    ([subject, kinds]) =>
      `## ${subject}\n\n${table(
        ['Kind', 'Meaning'],
        kinds.map(([kind, meaning]) => [code(kind), meaning]),
      )}`,
  );
  return page('docs/reference/events.md', 'Events', intro, ...sections);
}
