/** One thing to know before deciding; a text with line feeds is a block. */
export interface DecisionFact {
  name: string;
  text: string;
}

/** What programs need of a decision and people do not: ids, digests, and what its other words say already. */
const forPrograms =
  /(^|_|[a-z])(id|Id|hash|tree)$|^(task|session|form|canStand|isApprovable|needsHuman|noChecks|kind)$/;

/** The detail of a decision as lines for people: names in words, nested values as indented blocks, nothing that only programs need. */
export function decisionFacts(detail: unknown): DecisionFact[] {
  if (typeof detail !== 'object' || detail === null) return [];
  return Object.entries(detail).flatMap(([key, value]) => {
    const text = forPrograms.test(key) ? '' : textOf(value);
    return text === '' ? [] : [{ name: inWords(key), text }];
  });
}

function textOf(value: unknown): string {
  if (value === null || value === undefined) return '';
  if (Array.isArray(value)) {
    const texts = value.map(textOf).filter((text) => text !== '');
    return texts.join(value.some((one) => typeof one === 'object') ? '\n' : ', ');
  }
  if (typeof value !== 'object') return String(value).trimEnd();
  return decisionFacts(value)
    .map(({ name, text }) => (text.includes('\n') ? `${name}:\n${text.replaceAll(/^/gm, '  ')}` : `${name}: ${text}`))
    .join('\n');
}

function inWords(key: string): string {
  return key
    .replaceAll('_', ' ')
    .replaceAll(/([a-z])([A-Z])/g, '$1 $2')
    .toLowerCase();
}
