import { systemActor } from '../../kernel/index.ts';
import { endSession, enqueuePrompt, findSession, type SessionRow } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';
import { reportDone } from './report-done.ts';

const actor = systemActor('turns');

/** How often an agent that ends its turn without a report is reminded before the server looks for itself. */
const reminders = 2;

const words = {
  author:
    'Your turn ended, but the work was not reported. If it is complete, commit it and call `report_done`. If something only a human can decide stops you, call `ask_human`. Otherwise go on.',
  reviewer: 'Your turn ended without a verdict. Call `submit_review` now, then `report_done`.',
  qa: 'Your turn ended without a result. Call `submit_qa` now, then `report_done`.',
};

/**
 * After a turn that ended without a report: the agent is reminded, twice at most; then what it left is taken as its report,
 * and where that cannot be, the session ends as CRASHED with the reason `no_report`. So no session idles for ever.
 */
export async function lookAfterTurn(
  ctx: AppContext,
  turn: { sessionId: string; generation: number; stopReason: string },
): Promise<void> {
  const session = await findSession(ctx.store.read, turn.sessionId);
  if (!session || session.state !== 'RUNNING' || session.generation !== turn.generation || session.turn_open === 1)
    return;
  if (turn.stopReason === 'cancelled') return;
  const told = await ctx.store.read
    .selectFrom('prompt')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('session_id', '=', session.id)
    .where('source_key', 'like', `reminder:${session.generation}:%`)
    .executeTakeFirstOrThrow();
  const count = Number(told.count);
  if (count < reminders) {
    await ctx.store.tx((tx) =>
      enqueuePrompt(tx, session, {
        kind: 'tell',
        sourceKey: `reminder:${session.generation}:${count + 1}`,
        text: words[session.role],
        actor,
      }),
    );
    return;
  }
  await takeWhatIsThere(ctx, session);
}

async function takeWhatIsThere(ctx: AppContext, session: SessionRow): Promise<void> {
  const caller = {
    actor: { kind: 'session' as const, id: session.id, generation: session.generation },
    proof: 'none' as const,
    scope: `session:${session.id}`,
    idempotencyKey: `no-report:${session.id}:${session.generation}`,
  };
  const holder = {
    sessionId: session.id as never,
    generation: session.generation,
    role: session.role,
    workKey: session.work_key,
    taskId: session.task_id,
  };
  const reported = await reportDone(ctx, caller, holder, 'The agent ended its turn without a report.');
  if (reported.ok) return;
  await ctx.store.tx(async (tx) => {
    const row = await findSession(tx.db, session.id);
    if (row?.state === 'RUNNING') await endSession(tx, ctx.sessions, row, 'CRASHED', { actor, reason: 'no_report' });
  });
}
