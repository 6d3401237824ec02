import { type HeardHooks, sweepWatched } from '../../sessions/index.ts';
import { lookAgainIn, type Reconciler, startReconciler } from '../../store/index.ts';
import type { AppContext } from '../context.ts';

const sweepMs = 10_000;

/** Watched sessions whose process is gone end here, since a killed agent runs no hook. */
export function startWatchSweep(ctx: AppContext): Reconciler {
  const heard: HeardHooks = new Map();
  return startReconciler(ctx.store, {
    name: 'watched-sessions',
    slot: ctx.nodeId,
    list: async () => ['watched'],
    pass: async () => {
      await sweepWatched(ctx.store, ctx.nodeId, heard);
      return lookAgainIn(sweepMs);
    },
    everyMs: sweepMs,
    onError: (error) => ctx.log.error({ err: error }, 'watched sessions'),
  });
}
