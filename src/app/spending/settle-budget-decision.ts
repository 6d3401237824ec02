import { ok, refuse, type Result } from '../../kernel/index.ts';
import { budgetReason, stopSession } from '../../sessions/index.ts';
import { type BudgetVerdict, parseAmount, scopeOf, settleBudget } from '../../spending/index.ts';
import { type DecisionRequestRow, settleDecision, type Tx } from '../../store/index.ts';
import type { VerdictRequest } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';

/** Yes with `raise`: the cap is raised by so much; yes without: one turn may pass; no: what the budget holds is stopped. */
export async function settleBudgetDecision(
  tx: Tx,
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<{ message: string }>> {
  const wanted = readVerdict(ctx, verdict);
  if (!wanted.ok) return wanted;
  // Sessions are locked before the budget, as everywhere else.
  const paused = wanted.value.kind === 'stop' ? await pausedBy(tx, decision.subject_id) : [];
  const settled = await settleBudget(tx, ctx.spending, decision.subject_id, wanted.value, caller.actor);
  if (!settled.ok) return settled;
  const closed = await settleDecision(tx, decision.id, {
    outcome: verdict.verdict === 'approve' ? 'approved' : 'refused',
    detail: { how: wanted.value.kind, ...(verdict.note === undefined ? {} : { note: verdict.note }) },
    actor: caller.actor,
  });
  if (!closed.ok) return closed;
  for (const workKey of paused) {
    const key = `budget:${decision.id}:${workKey}`;
    const stopped = await stopSession(tx, ctx.sessions, caller, { workKey, key, reason: 'its budget is used up' });
    if (!stopped.ok && stopped.refusal.kind !== 'wrong-state') return stopped;
  }
  tx.wake('tasks');
  return ok({ message: messages[wanted.value.kind] });
}

const messages = {
  raise: 'Raised; the work goes on.',
  once: 'One more turn may begin; then it asks again.',
  stop: 'Stopped. Nothing of it starts again before its budget is raised or another day begins.',
} as const;

function readVerdict(ctx: AppContext, verdict: VerdictRequest): Result<BudgetVerdict> {
  if (verdict.verdict === 'refuse') return ok({ kind: 'stop' });
  if (verdict.raise === undefined) return ok({ kind: 'once' });
  const by = parseAmount(verdict.raise, ctx.spending.prices());
  if (!by.ok) return by;
  if (by.value.tokens === null && by.value.micros === null)
    return refuse('invalid', 'bad_budget', 'Say by how much it is raised, for example `--raise 2M`.');
  return ok({ kind: 'raise', by: by.value });
}

/** Work keys of the living sessions that this budget has paused. */
async function pausedBy(tx: Tx, budgetId: string): Promise<string[]> {
  const { scope, subject } = scopeOf(budgetId);
  let query = tx.db
    .selectFrom('session')
    .leftJoin('pull_request', 'pull_request.id', 'session.pull_request_id')
    .select(['session.id', 'session.work_key'])
    .where('session.state', '=', 'PAUSED')
    .where('session.reason', '=', budgetReason)
    .orderBy('session.id');
  if (scope === 'plan') query = query.where('session.agent', '=', subject);
  if (scope === 'project') query = query.where('session.project_id', '=', subject);
  if (scope === 'task')
    query = query.where((eb) => eb.or([eb('session.task_id', '=', subject), eb('pull_request.task_id', '=', subject)]));
  const rows = await query.execute();
  for (const { id } of rows) await tx.lock('session', id);
  return rows.map((row) => row.work_key);
}
