import { decisionFacts, type DecisionView } from '../wire/index.ts';
import { oneLine, shortTime, visible } from './show.ts';

type Detail = Record<string, unknown>;

/**
 * The commands that settle a decision, without `chantier`: with the work key, number or id they take, so that what `pending`
 * prints can be typed. A settled one has none.
 */
export function waysToSettle(decision: DecisionView): string[] {
  if (decision.state !== 'open') return [];
  const detail = detailOf(decision);
  const number = typeof detail.number === 'number' ? detail.number : undefined;
  if (decision.kind === 'escalation_answer') {
    return [`respond ${typeof detail.work_key === 'string' ? oneLine(detail.work_key, 400) : decision.id} "…"`];
  }
  if (decision.kind === 'landing' && number !== undefined) return [`land ${number}`, `refuse ${decision.id}`];
  if (decision.kind === 'human_review' && number !== undefined) {
    return [`human approve ${number}`, `human retry ${number}`, `human abandon ${number}`];
  }
  return decision.verdicts.map((verdict) =>
    verdict === 'respond' ? `respond ${decision.id} "…"` : `${verdict} ${decision.id}`,
  );
}

/** Everything that is needed to decide, as text that is harmless for a terminal: the whole question, call or last words. */
export function describeDecision(decision: DecisionView): string {
  const detail = detailOf(decision);
  const number = typeof detail.number === 'number' ? [`chantier pr show ${detail.number} --diff`] : [];
  const ways = [
    ...(decision.state === 'open' ? number : []),
    ...waysToSettle(decision).map((way) => `chantier ${way}`),
  ];
  return [
    `${decision.id} · ${decision.kind} · ${decision.state}${decision.outcome === null ? '' : `: ${oneLine(decision.outcome)}`} · since ${shortTime(decision.createdAt)}${decision.count > 1 ? ` · asked ${decision.count} times` : ''}`,
    ...bodyOf(decision, detail).map((line) => visible(line)),
    ...(ways.length === 0 ? [] : ['', ...ways.map((way) => `  ${way}`)]),
    ...(decision.proof === 'fresh' && decision.state === 'open' ? ['A yes asks for the passphrase anew.'] : []),
  ].join('\n');
}

function bodyOf(decision: DecisionView, detail: Detail): string[] {
  if (decision.kind === 'escalation_answer') {
    const form =
      detail.form === null || detail.form === undefined ? [] : [`Answer wanted: ${JSON.stringify(detail.form)}`];
    return [String(detail.text ?? decision.title), ...form];
  }
  const { preview, ...facts } = detail as { preview?: { text?: unknown } };
  return [
    decision.title,
    ...(typeof preview?.text === 'string' ? [indented(preview.text)] : []),
    ...(detail.isApprovable === false ? ['It cannot be shown whole, so it can only be refused.'] : []),
    ...decisionFacts(facts).map(({ name, text }) =>
      text.includes('\n') ? `${name}:\n${indented(text)}` : `${name}: ${text}`,
    ),
  ];
}

function indented(text: string): string {
  return text.replaceAll(/^/gm, '  ');
}

function detailOf(decision: DecisionView): Detail {
  return (decision.detail ?? {}) as Detail;
}
