import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { DecisionKind, DecisionRequestRow } from '../../store/index.ts';
import type { SettledView, VerdictRequest } from '../../wire/index.ts';
import { actOfDecision, requireProof } from '../access/index.ts';
import type { DecisionUseCases } from '../app.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import type { Db } from '../dispatch/db.ts';
import { settleHumanReview } from '../review/settle-human-review.ts';
import { settleLanding } from '../landing/settle-landing.ts';
import { settlers } from './settle-decision.ts';
import { fullDecisionView } from './why-it-failed.ts';
import { decisionView, factsOf } from './views.ts';

/** The one list of open questions, and their answers (design section 5 "Decisions"). */
export function decisionUseCases(ctx: AppContext): DecisionUseCases {
  const db = ctx.store.read;
  return {
    async list(_caller, query) {
      let rows = db.selectFrom('decision_request').selectAll();
      if (query.state !== 'all') rows = rows.where('state', '=', query.state ?? 'open');
      if (query.kind !== undefined) rows = rows.where('kind', '=', query.kind);
      if (query.session !== undefined) {
        const session = await db
          .selectFrom('session')
          .select('id')
          .where('work_key', '=', query.session)
          .orderBy('created_at', 'desc')
          .executeTakeFirst();
        rows = rows.where('session_id', '=', session?.id ?? query.session);
      }
      if (query.cursor !== undefined) {
        const after = await db
          .selectFrom('decision_request')
          .select(['created_at', 'id'])
          .where('id', '=', query.cursor)
          .executeTakeFirst();
        if (after)
          rows = rows.where((eb) =>
            eb.or([
              eb('created_at', '>', after.created_at),
              eb.and([eb('created_at', '=', after.created_at), eb('id', '>', after.id)]),
            ]),
          );
      }
      const found = await rows
        .orderBy('created_at')
        .orderBy('id')
        .limit(query.limit + 1)
        .execute();
      const items = await Promise.all(found.slice(0, query.limit).map((row) => fullDecisionView(ctx, row)));
      return ok({ items, nextCursor: found.length > query.limit ? (items.at(-1)?.id ?? null) : null });
    },
    async show(_caller, id) {
      const row = await findDecision(db, id);
      return row.ok ? ok(await fullDecisionView(ctx, row.value)) : row;
    },
    settle: (caller, id, verdict) => settle(ctx, caller, id, verdict),
  };
}

async function settle(
  ctx: AppContext,
  caller: Caller,
  id: string,
  verdict: VerdictRequest,
): Promise<Result<SettledView>> {
  if (caller.actor.kind !== 'operator')
    return refuse('not-permitted', 'human_only', 'Only an operator decides (G-21).');
  const found = await findDecision(ctx.store.read, id);
  if (!found.ok) return found;
  const decision = found.value;
  const kind = decision.kind as DecisionKind;
  const proof = requireProof(caller, actOfDecision(kind, verdict.verdict, factsOf(decision, verdict.scope)));
  if (!proof.ok) return proof;
  const allowed = decisionView(decision).verdicts;
  if (!allowed.includes(verdict.verdict)) {
    return refuse(
      'invalid',
      'wrong_verdict',
      `Decision ${decision.id} (${kind}) is settled by ${allowed.join(' or ')}, not by ${verdict.verdict}.`,
      { id: decision.id },
    );
  }
  if (decision.state !== 'open') return alreadySettled(decision, verdict);
  const outcome = await apply(ctx, caller, decision, verdict);
  if (!outcome.ok) return outcome;
  const after = await findDecision(ctx.store.read, decision.id);
  if (!after.ok) return after;
  return ok({ decision: decisionView(after.value), replayed: false, message: outcome.value.message });
}

async function apply(
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<{ message: string }>> {
  if (decision.kind === 'landing') return settleLanding(ctx, caller, decision, verdict);
  if (decision.kind === 'human_review') return settleHumanReview(ctx, caller, decision, verdict);
  const settler = settlers[decision.kind as DecisionKind];
  if (!settler)
    return refuse(
      'wrong-state',
      'not_settled_here',
      `Decisions of kind ${decision.kind} cannot be settled by this version.`,
      { id: decision.id },
    );
  return ctx.store.tx((tx) => settler(tx, ctx, caller, decision, verdict));
}

/** Told again the same verdict it is a success; another one comes too late (G-22). */
function alreadySettled(decision: DecisionRequestRow, verdict: VerdictRequest): Result<SettledView> {
  const outcomes = {
    approve: ['approved', 'accepted', 'approve'],
    refuse: ['refused', 'denied', 'declined'],
    respond: ['answered'],
  };
  if (decision.outcome !== null && outcomes[verdict.verdict].includes(decision.outcome)) {
    return ok({ decision: decisionView(decision), replayed: true, message: `already ${decision.outcome}` });
  }
  return refuse(
    'wrong-state',
    'decision_closed',
    `Decision ${decision.id} is already ${decision.outcome ?? decision.state}.`,
    { id: decision.id, state: decision.state },
  );
}

/** A decision by its id, or the open one about a subject: capability, call, session (oldest question), landing, pull request. */
async function findDecision(db: Db, id: string): Promise<Result<DecisionRequestRow>> {
  const byId = await db.selectFrom('decision_request').selectAll().where('id', '=', id).executeTakeFirst();
  if (byId) return ok(byId);
  const bySubject = await db
    .selectFrom('decision_request')
    .leftJoin('session', 'session.id', 'decision_request.session_id')
    .selectAll('decision_request')
    .where('decision_request.state', '=', 'open')
    .where((eb) =>
      eb.or([eb('subject_id', '=', id), eb('decision_request.session_id', '=', id), eb('session.work_key', '=', id)]),
    )
    .orderBy('decision_request.created_at')
    .limit(1)
    .executeTakeFirst();
  return bySubject
    ? ok(bySubject as DecisionRequestRow)
    : refuse('not-found', 'unknown_decision', `unknown id ${id}`, { id });
}
