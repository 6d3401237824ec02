import { makeVisible } from '../../gate/index.ts';
import type { DecisionKind, DecisionRequestRow } from '../../store/index.ts';
import { phoneVerdicts } from '../../wire/index.ts';
import { actOfDecision, proofFor } from '../access/index.ts';
import { factsOf } from '../decisions/views.ts';
import type { Button, Part } from './letter.ts';

/** A text longer than this, with a mark before each line, does not fit a message whole; such a call is not approved by phone. */
const maxShownLength = 3_200;
/** Length of the mark before each line. */
const markLength = 2;

type Verdict = 'approve' | 'refuse' | 'respond';

/**
 * Whether the phone may give this verdict: its kind, the strength of its proof (design section 4), and for a yes to a call
 * or a capability that the message shows it whole, which it cannot where texts stay here (`notify.texts`).
 */
export function mayDecideByPhone(decision: DecisionRequestRow, verdict: Verdict, carriesTexts: boolean): boolean {
  const kind = decision.kind as DecisionKind;
  if (!(phoneVerdicts[kind]?.includes(verdict) ?? false)) return false;
  if (proofFor(actOfDecision(kind, verdict, factsOf(decision, 'once'))) !== 'standing') return false;
  return verdict !== 'approve' || isShownWhole(decision, carriesTexts);
}

function isShownWhole(decision: DecisionRequestRow, carriesTexts: boolean): boolean {
  if (decision.kind !== 'call_approval' && decision.kind !== 'capability_approval') return true;
  const { isApprovable, preview } = detailOf(decision) as { isApprovable?: boolean; preview?: { text?: unknown } };
  if (decision.kind === 'call_approval' && (isApprovable !== true || typeof preview?.text !== 'string')) return false;
  const text = theirsOf(decision);
  return carriesTexts && text.length + markLength * text.split('\n').length <= maxShownLength;
}

/** The texts of others that a human needs for the decision, neutralised: control, bidi and invisible characters are written out. */
export function textOf(decision: DecisionRequestRow): Part[] {
  const text = theirsOf(decision);
  return text === '' ? [] : [{ theirs: text }];
}

function theirsOf(decision: DecisionRequestRow): string {
  const detail = detailOf(decision);
  switch (decision.kind) {
    case 'escalation_answer': {
      const form =
        detail.form === null || detail.form === undefined ? '' : `\nAnswer wanted: ${JSON.stringify(detail.form)}`;
      return makeVisible(`${String(detail.text ?? decision.title)}${form}`);
    }
    case 'call_approval': {
      const preview = detail.preview as { text?: string } | undefined;
      const capabilities = detail.capabilities as { name: string; tier: string }[] | undefined;
      const needs = (capabilities ?? []).map(({ name, tier }) => `${name} (${tier})`).join(', ');
      const where = `in ${String(detail.folder ?? 'no folder')}`;
      return makeVisible(
        `${preview?.text ?? decision.title}\n— ${needs === '' ? `asked by an agent that was started by hand, ${where}` : `needs ${needs}, ${where}`}`,
      );
    }
    case 'capability_approval': {
      const definition = detail.definition === undefined ? '' : `\n${JSON.stringify(detail.definition)}`;
      return makeVisible(`${decision.title}${definition}`);
    }
    default:
      return makeVisible(decision.title);
  }
}

/** What one press can settle. */
export function buttonsOf(decision: DecisionRequestRow, carriesTexts: boolean): Button[] {
  const words = labels[decision.kind as DecisionKind] ?? { approve: 'Approve', refuse: 'Refuse' };
  return (['approve', 'refuse'] as const)
    .filter((verdict) => mayDecideByPhone(decision, verdict, carriesTexts))
    .map((verdict) => ({ label: words[verdict], verdict, decisionId: decision.id }));
}

/** What yes and no mean, where that is more than yes and no. */
const labels: Partial<Record<DecisionKind, { approve: string; refuse: string }>> = {
  call_approval: { approve: 'Approve once', refuse: 'Refuse' },
  capability_approval: { approve: 'Approve for good', refuse: 'Refuse for good' },
  attempts_exhausted: { approve: 'Try again', refuse: 'Cancel the task' },
  dead_letter: { approve: 'Try again', refuse: 'Drop it' },
};

/** What to do about it, and where, when not here. */
export function wayToDecide(
  decisions: readonly DecisionRequestRow[],
  receiver: { canAnswer: boolean; carriesTexts: boolean },
  hasButtons: boolean,
): string {
  const [first] = decisions as [DecisionRequestRow];
  if (!receiver.canAnswer) return `Decide in the console or with "chantier ${verbOf(first)}".`;
  if (first.kind === 'escalation_answer') {
    return decisions.length === 1
      ? 'Reply to this message to answer.'
      : 'Reply to this message: your text answers the first. To answer several in order, begin lines with 1. 2. …';
  }
  if (mayDecideByPhone(first, 'approve', receiver.carriesTexts)) return 'Press a button.';
  const where = `in the console or with "chantier ${verbOf(first)}"`;
  return hasButtons ? `A yes is not given here: look at all of it ${where}.` : `Not decided here: look at it ${where}.`;
}

function verbOf(decision: DecisionRequestRow): string {
  const detail = detailOf(decision);
  const number = typeof detail.number === 'number' ? detail.number : undefined;
  switch (decision.kind) {
    case 'escalation_answer':
      return `respond ${typeof detail.work_key === 'string' ? detail.work_key : decision.id}`;
    case 'landing':
      return number === undefined ? 'land' : `pr show ${number} --diff" and "chantier land ${number}`;
    case 'human_review':
      return number === undefined ? 'pending' : `pr show ${number} --diff`;
    case 'repository_trust':
      return 'trust';
    default:
      return `approve ${decision.id}`;
  }
}

function detailOf(decision: DecisionRequestRow): Record<string, unknown> {
  return JSON.parse(decision.detail) as Record<string, unknown>;
}
