import { ok } from '../../kernel/index.ts';
import type { Supervisor } from '../../sessions/index.ts';
import type { InstanceUseCases } from '../app.ts';
import type { AppContext } from '../context.ts';
import { awaitSavedWork } from '../workspace/save-session-work.ts';

/** Before the server ends: says which agents go on, or ends them and saves their work (design section 7). */
export function prepareDown(ctx: AppContext, supervisor: () => Supervisor): InstanceUseCases['prepareDown'] {
  return async (caller, { stopAgents }) => {
    if (stopAgents) {
      ctx.halt.beginClosing();
      const stopped = await supervisor().stopAll({ actor: caller.actor, reason: 'down --stop-agents' });
      await Promise.all(stopped.map(({ sessionId }) => awaitSavedWork(ctx, sessionId)));
      await (await ctx.barrier.wall?.wall())?.stop();
      return ok({ goOn: [], stopped: stopped.map(({ sessionId, workKey }) => ({ sessionId, workKey })) });
    }
    const living = await ctx.store.read
      .selectFrom('session')
      .select(['id', 'work_key'])
      .where('ended_at', 'is', null)
      .orderBy('created_at')
      .execute();
    return ok({ goOn: living.map((session) => ({ sessionId: session.id, workKey: session.work_key })), stopped: [] });
  };
}
