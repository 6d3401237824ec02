import {
  type Actor,
  canonicalJson,
  type DecisionId,
  type Json,
  newShortId,
  ok,
  refuse,
  type Result,
  systemActor,
} from '../kernel/index.ts';
import type { DecisionRequestRow } from './schema/core.ts';
import type { Tx } from './store.ts';

/** Every kind of question to a human (design section 5), with what its yes means. */
export const decisionKinds = {
  escalation_answer: 'An agent asks something; the answer goes back to it.',
  capability_approval: 'A capability waits to be approved for good or refused.',
  call_approval: 'One call waits for a single-use yes.',
  server_trust: 'An MCP server was connected for the first time.',
  repository_trust: 'A repository configuration is used for the first time or has changed.',
  landing: 'A reviewed change is ready to land.',
  human_review: 'A change needs a human reviewer.',
  release: 'A project is ready to ship.',
  budget: 'A budget is used up.',
  provider_limit: 'A provider limit stops work.',
  proposal: 'An unknown skill, tool or agent was asked for.',
  nothing_delivered: 'Work ended without a change.',
  decomposition_plan: 'A decomposition waits for a yes.',
  decomposition_stopped: 'A kill-switch or quota stopped a decomposition.',
  base_conflict: 'The operator’s base and ours cannot be merged.',
  attempts_exhausted: 'A task failed as often as it may.',
  dead_letter: 'An outside effect failed for good.',
  model_missing: 'A step needs a model and none is configured.',
  mail_triage: 'A mail waits to be sorted.',
  outbound_mail: 'A mail waits to be sent.',
  lesson: 'A lesson waits to be kept.',
  visual_baseline: 'A picture waits to become the baseline.',
} as const;

export type DecisionKind = keyof typeof decisionKinds;

/** A question to a human, as a domain asks it in its subject's transaction (README 2.1). */
export interface NewDecision {
  kind: DecisionKind;
  subject: { kind: string; id: string };
  projectId?: string;
  sessionId?: string;
  /** Default `<kind>:<subject id>`. Asked again while open, only the count grows (gate decision 9). */
  dedupeKey?: string;
  /** One line, at most 300 characters; longer is cut. */
  title: string;
  /** What is needed to decide. */
  detail: Json;
  actor?: Actor;
}

/** Opens a decision, or counts it again; gives its short id. */
export async function openDecision(tx: Tx, decision: NewDecision): Promise<DecisionId> {
  const dedupeKey = decision.dedupeKey ?? `${decision.kind}:${decision.subject.id}`;
  const again = await tx.db
    .updateTable('decision_request')
    .set((eb) => ({ count: eb('count', '+', 1) }))
    .where('dedupe_key', '=', dedupeKey)
    .where('state', '=', 'open')
    .returning('id')
    .executeTakeFirst();
  if (again) return again.id as DecisionId;
  const id = newShortId<DecisionId>();
  await tx.db
    .insertInto('decision_request')
    .values({
      id,
      kind: decision.kind,
      subject_kind: decision.subject.kind,
      subject_id: decision.subject.id,
      project_id: decision.projectId ?? null,
      session_id: decision.sessionId ?? null,
      dedupe_key: dedupeKey,
      count: 1,
      title: [...decision.title].slice(0, 300).join(''),
      detail: canonicalJson(decision.detail),
      state: 'open',
      outcome: null,
      outcome_detail: null,
      settled_by: null,
      created_at: tx.now,
      settled_at: null,
    })
    .execute();
  await tx.emit({
    kind: 'decision.opened',
    actor: decision.actor ?? systemActor('decisions'),
    subject: { kind: 'decision', id },
    ...(decision.projectId ? { projectId: decision.projectId } : {}),
    ...(decision.sessionId ? { sessionId: decision.sessionId } : {}),
    facts: { decision_kind: decision.kind, subject_kind: decision.subject.kind, subject_id: decision.subject.id },
  });
  tx.wake('decisions', id);
  return id;
}

/**
 * Settles an open decision with `outcome` (`approved`, `refused`, `answered`, …). Refuses with `not-found` or, when it is
 * not open any more, `wrong-state`. The caller applies the outcome to the subject in the same transaction.
 */
export async function settleDecision(
  tx: Tx,
  id: string,
  settlement: { outcome: string; detail?: Json; actor: Actor },
): Promise<Result<DecisionRequestRow>> {
  const row = await tx.db
    .updateTable('decision_request')
    .set({
      state: 'settled',
      outcome: settlement.outcome,
      outcome_detail: settlement.detail === undefined ? null : canonicalJson(settlement.detail),
      settled_by: settlement.actor.id,
      settled_at: tx.now,
    })
    .where('id', '=', id)
    .where('state', '=', 'open')
    .returningAll()
    .executeTakeFirst();
  if (!row) {
    const known = await tx.db
      .selectFrom('decision_request')
      .select(['state', 'outcome'])
      .where('id', '=', id)
      .executeTakeFirst();
    if (!known) return refuse('not-found', 'unknown_decision', `unknown id ${id}`, { id });
    return refuse('wrong-state', 'decision_closed', `Decision ${id} is already ${known.outcome ?? known.state}.`, {
      id,
      state: known.state,
    });
  }
  await tx.emit({
    kind: 'decision.settled',
    actor: settlement.actor,
    subject: { kind: 'decision', id },
    ...(row.project_id ? { projectId: row.project_id } : {}),
    ...(row.session_id ? { sessionId: row.session_id } : {}),
    facts: { decision_kind: row.kind, outcome: settlement.outcome, subject_id: row.subject_id },
  });
  tx.wake('decisions', id);
  return ok(row);
}

/** Withdraws the open decisions that `match`, because their subject ended or changed; gives their ids. */
export async function voidDecisions(
  tx: Tx,
  match: { subjectId?: string; sessionId?: string; kind?: DecisionKind; dedupeKey?: string },
  reason: string,
): Promise<string[]> {
  let query = tx.db
    .updateTable('decision_request')
    .set({ state: 'void', outcome: reason, settled_at: tx.now })
    .where('state', '=', 'open');
  if (match.subjectId !== undefined) query = query.where('subject_id', '=', match.subjectId);
  if (match.sessionId !== undefined) query = query.where('session_id', '=', match.sessionId);
  if (match.kind !== undefined) query = query.where('kind', '=', match.kind);
  if (match.dedupeKey !== undefined) query = query.where('dedupe_key', '=', match.dedupeKey);
  const rows = await query.returning(['id', 'kind', 'subject_id']).execute();
  for (const row of rows) {
    await tx.emit({
      kind: 'decision.voided',
      actor: systemActor('decisions'),
      subject: { kind: 'decision', id: row.id },
      facts: { decision_kind: row.kind, reason, subject_id: row.subject_id },
    });
    tx.wake('decisions', row.id);
  }
  return rows.map((row) => row.id);
}
