import { type Json, toRfc3339 } from '../../kernel/index.ts';
import { makeVisible } from '../../gate/index.ts';
import type { DecisionKind, DecisionRequestRow } from '../../store/index.ts';
import type { DecisionView } from '../../wire/index.ts';
import { actOfDecision, proofFor } from '../access/index.ts';
import { momentOf } from '../work/views.ts';

/** How each kind is settled. */
const verdicts: Partial<Record<DecisionKind, DecisionView['verdicts']>> = {
  escalation_answer: ['respond'],
};

/** A decision as a client sees it; its title comes from agents and others, so it is neutralised. */
export function decisionView(row: DecisionRequestRow): DecisionView {
  const kind = row.kind as DecisionKind;
  return {
    id: row.id,
    kind,
    subject: { kind: row.subject_kind, id: row.subject_id },
    projectId: row.project_id,
    sessionId: row.session_id,
    count: row.count,
    title: makeVisible(row.title),
    detail: JSON.parse(row.detail) as Json,
    verdicts: verdicts[kind] ?? ['approve', 'refuse'],
    proof: proofFor(actOfDecision(kind, 'approve', factsOf(row))) === 'fresh' ? 'fresh' : 'standing',
    state: row.state,
    outcome: row.outcome,
    settledBy: row.settled_by,
    createdAt: toRfc3339(row.created_at),
    settledAt: momentOf(row.settled_at),
  };
}

/** What of a decision's subject makes its yes a fresh act (design section 4). */
export function factsOf(
  row: Pick<DecisionRequestRow, 'kind' | 'detail'>,
  scope?: 'once' | 'standing',
): { isPrivileged: boolean; isStanding: boolean } {
  const detail = JSON.parse(row.detail) as { tier?: string };
  return {
    isPrivileged: detail.tier === 'privileged',
    isStanding: row.kind === 'capability_approval' || scope === 'standing',
  };
}
