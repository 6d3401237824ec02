import { ok, type Result } from '../../kernel/index.ts';
import type { Supervisor } from '../../sessions/index.ts';
import type { StoppedAllView } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { awaitSavedWork } from '../workspace/save-session-work.ts';

/** `stop --all`: also one button. */
export type StopEverything = (caller: Caller, reason?: string) => Promise<Result<StoppedAllView>>;

/**
 * Stops dispatch, landing and effects by the switch, ends every process within 5 s, saves the work into rescue refs and says
 * what it did (design section 7). `supervisor` is a function because it starts after the use cases are made.
 */
export function createStopEverything(ctx: AppContext, supervisor: () => Supervisor): StopEverything {
  return async (caller, reason) => {
    const started = ctx.store.clock.monotonic();
    await ctx.store.tx((tx) => ctx.halt.set(tx, true, caller.actor));
    const stopped = await supervisor().stopAll({ actor: caller.actor, reason: reason ?? 'stop --all' });
    const durationMs = Math.round(ctx.store.clock.monotonic() - started);
    const saved = await Promise.all(
      stopped.map(async ({ sessionId, workKey }) => ({
        sessionId,
        workKey,
        savedRefs: await awaitSavedWork(ctx, sessionId),
      })),
    );
    return ok({ stopped: saved, durationMs });
  };
}
