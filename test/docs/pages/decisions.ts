import { decisionKinds } from '../../../src/store/index.ts';
import { code, type Page, page, table } from './page.ts';

const intro = `Everything that waits for a human is one list: \`chantier pending\`, the console, \`GET /api/decisions\`. Each entry has a kind. Some kinds
belong to parts that are not built yet; nothing opens them today.`;

/** Every kind of decision with what it means. */
export function decisionsPage(): Page {
  const rows = Object.entries(decisionKinds).map(([kind, meaning]) => [code(kind), meaning]);
  return page('docs/reference/decisions.md', 'Decisions', intro, table(['Kind', 'Meaning'], rows));
}
