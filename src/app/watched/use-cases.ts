import { type Json, ok, toRfc3339 } from '../../kernel/index.ts';
import { previewOf } from '../../gate/index.ts';
import { listWatched, reportWatched, type ShowRequest, waitWatched, withdrawWatched } from '../../sessions/index.ts';
import type { WatchedSessionView } from '../../wire/index.ts';
import type { WatchedUseCases } from '../app.ts';
import type { AppContext } from '../context.ts';

/** Sessions that people start by hand: what their hooks report, and the answers that they fetch (design section 7). */
export function watchedUseCases(ctx: AppContext): WatchedUseCases {
  return {
    report: (_caller, hook) =>
      ctx.store.tx((tx) =>
        reportWatched(
          tx,
          ctx.nodeId,
          {
            agent: hook.agent,
            input: hook.input,
            requestId: hook.requestId,
            ...(hook.process === undefined ? {} : { process: hook.process }),
          },
          showCall,
        ),
      ),
    wait: (caller, requestId, waitMs) => waitWatched(ctx.store, requestId, waitMs, caller.signal),
    async withdraw(_caller, requestId) {
      await ctx.store.tx((tx) => withdrawWatched(tx, requestId));
      return ok({ withdrawn: true });
    },
  };
}

/** A call as the decision shows it: whole, visible, secrets masked; what is cut can only be refused (gate decision 8). */
const showCall: ShowRequest = ({ tool, input, folder }) => {
  const preview = previewOf(input, tool);
  const detail = {
    tool,
    folder,
    preview,
    capabilities: [],
    reason: 'watched',
    isApprovable: preview.isComplete,
    sandboxHolds: false,
  };
  return { summary: `${tool}: ${preview.text.split('\n')[0]}`, detail: detail as unknown as Json };
};

/** Living watched sessions for `status`. */
export async function readWatched(ctx: AppContext): Promise<WatchedSessionView[]> {
  const sessions = await listWatched(ctx.store.read);
  return sessions.map((session) => ({
    id: session.id,
    agent: session.agent,
    folder: session.cwd,
    state: session.state === 'ended' ? 'idle' : session.state,
    waitsFor: session.requests.map((request) => ({
      kind: request.kind,
      tool: request.tool,
      decisionId: request.decision_id,
    })),
    startedAt: toRfc3339(session.started_at),
    lastSeenAt: toRfc3339(session.seen_at),
  }));
}
