import { ok, refuse, type Result } from '../../kernel/index.ts';
import { repositoryById } from '../../forge/index.ts';
import { readPullRequest } from '../../review/index.ts';
import type { DecisionKind, DecisionRequestRow } from '../../store/index.ts';
import type { SettledView, VerdictRequest } from '../../wire/index.ts';
import { actOfDecision, requireProof } from '../access/index.ts';
import type { DecisionUseCases } from '../app.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import type { Db } from '../dispatch/db.ts';
import { mayDecideByPhone } from '../notify/show-decision.ts';
import { settleHumanReview } from '../review/settle-human-review.ts';
import { requireSeenHead, requireShownWhole } from '../review/require-seen.ts';
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
  const found = await findDecision(ctx.store.read, id, verdict.verdict);
  if (!found.ok) return found;
  const decision = found.value;
  const kind = decision.kind as DecisionKind;
  const proof = requireProof(caller, actOfDecision(kind, verdict.verdict, factsOf(decision, verdict.scope)));
  if (!proof.ok) return proof;
  if (caller.actor.channel === 'telegram' && decision.state === 'open' && !isForPhone(ctx, decision, verdict)) {
    return refuse(
      'not-permitted',
      'not_decided_by_phone',
      `Decision ${decision.id} (${kind}) is not decided by phone: look at it in the console or with "chantier pending".`,
      { id: decision.id },
    );
  }
  const allowed = decisionView(decision).verdicts;
  if (!allowed.includes(verdict.verdict)) {
    return refuse(
      'invalid',
      'wrong_verdict',
      `Decision ${decision.id} (${kind}) is settled by ${allowed.join(' or ')}, not by ${verdict.verdict}.`,
      { id: decision.id },
    );
  }
  if (decision.state !== 'open') return alreadySettled(ctx, decision, verdict);
  const seen = await requireSeen(ctx, decision, verdict);
  if (!seen.ok) return seen;
  const outcome = await apply(ctx, caller, decision, seen.value);
  const after = await findDecision(ctx.store.read, decision.id);
  if (!after.ok) return after;
  // Somebody else was faster.
  if (!outcome.ok)
    return outcome.refusal.code === 'decision_closed' ? alreadySettled(ctx, after.value, verdict) : outcome;
  return ok({ decision: decisionView(after.value), replayed: false, message: outcome.value.message });
}

/** Once and never for good, of the kinds that a phone settles, and only what its message could show. */
function isForPhone(ctx: AppContext, decision: DecisionRequestRow, verdict: VerdictRequest): boolean {
  if (verdict.scope === 'standing') return false;
  return mayDecideByPhone(decision, verdict.verdict, ctx.config.get('notify.texts') !== 'none');
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
/** Two humans who answer the same question differently do not both hear that it was done. */
async function isSameAnswer(ctx: AppContext, decision: DecisionRequestRow, verdict: VerdictRequest): Promise<boolean> {
  if (decision.kind !== 'escalation_answer') return true;
  const question = await ctx.store.read
    .selectFrom('escalation')
    .select('answer')
    .where('id', '=', decision.subject_id)
    .executeTakeFirst();
  return question?.answer === verdict.text;
}

async function alreadySettled(
  ctx: AppContext,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<SettledView>> {
  const outcomes = {
    approve: ['approved', 'accepted', 'approve'],
    refuse: ['refused', 'denied', 'declined'],
    respond: ['answered'],
  };
  const isSame = decision.outcome !== null && outcomes[verdict.verdict].includes(decision.outcome);
  if (isSame && (await isSameAnswer(ctx, decision, verdict))) {
    return ok({ decision: decisionView(decision), replayed: true, message: `already ${decision.outcome}` });
  }
  return refuse(
    'wrong-state',
    'decision_closed',
    `Decision ${decision.id} is already ${decision.outcome ?? decision.state}.`,
    { id: decision.id, state: decision.state },
  );
}

/** A yes to a change needs that it could be seen whole, or was read elsewhere (P5). Gives the verdict with the whole id of its head. */
async function requireSeen(
  ctx: AppContext,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<VerdictRequest>> {
  if (verdict.verdict !== 'approve' || (decision.kind !== 'landing' && decision.kind !== 'human_review'))
    return ok(verdict);
  const id = (JSON.parse(decision.detail) as { pullRequestId?: string }).pullRequestId;
  const pullRequest = id === undefined ? undefined : await readPullRequest(ctx.store.read, id);
  const repository = pullRequest && (await repositoryById(ctx.store.read, pullRequest.repositoryId));
  if (!pullRequest || !repository) return ok(verdict);
  const { head } = verdict;
  if (head !== undefined) {
    const seen = requireSeenHead(pullRequest, head);
    if (!seen.ok) return seen;
  }
  const shown = await requireShownWhole(ctx, repository, pullRequest, verdict.isSeenWhole === true);
  if (!shown.ok) return shown;
  return ok(head === undefined ? verdict : { ...verdict, head: pullRequest.headSha });
}

/**
 * A decision by its id, or the only open one about a subject: capability, call, question, landing, pull request. An answer may name the
 * session too and means its oldest question; a yes or no may not, since a session can wait for several things.
 */
async function findDecision(
  db: Db,
  id: string,
  verdict?: VerdictRequest['verdict'],
): Promise<Result<DecisionRequestRow>> {
  const byId = await db.selectFrom('decision_request').selectAll().where('id', '=', id).executeTakeFirst();
  if (byId) return ok(byId);
  const open = db
    .selectFrom('decision_request')
    .leftJoin('session', 'session.id', 'decision_request.session_id')
    .selectAll('decision_request')
    .where('decision_request.state', '=', 'open')
    .orderBy('decision_request.created_at')
    .orderBy('decision_request.id');
  const about = (await open.where('subject_id', '=', id).limit(20).execute()) as DecisionRequestRow[];
  if (about.length > 1 && verdict !== undefined) return severalOpen(id, about);
  if (about[0]) return ok(about[0]);
  const ofSession = (await open
    .where((eb) => eb.or([eb('decision_request.session_id', '=', id), eb('session.work_key', '=', id)]))
    .limit(20)
    .execute()) as DecisionRequestRow[];
  if (verdict === 'approve' || verdict === 'refuse') {
    if (ofSession.length > 0) return severalOpen(id, ofSession);
  } else {
    const question = ofSession.find((one) => verdict === undefined || one.kind === 'escalation_answer');
    if (question) return ok(question);
  }
  return refuse('not-found', 'unknown_decision', `unknown id ${id}`, { id });
}

function severalOpen(id: string, decisions: readonly DecisionRequestRow[]): Result<never> {
  const ways = decisions.map((one) => `${one.id} (${one.kind})`).join(', ');
  return refuse('invalid', 'decision_id_missing', `Say which decision of ${id} you mean: ${ways}.`, {
    ids: decisions.map((one) => one.id),
  });
}
