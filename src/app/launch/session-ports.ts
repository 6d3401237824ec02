import { systemActor } from '../../kernel/index.ts';
import { releasePorts, removeWorkFolder, markWorkFolder } from '../../forge/index.ts';
import { closeSessionCalls } from '../../gate/index.ts';
import { releaseClaim } from '../../ledger/index.ts';
import { pullRequestsTopic, releaseReviewClaim } from '../../review/index.ts';
import { findSession, type Session, type SessionEnd, type SessionPorts } from '../../sessions/index.ts';
import { enqueueEffect, type Tx, voidDecisions } from '../../store/index.ts';
import { restoredReason } from '../backup/manifest.ts';
import type { AppContext } from '../context.ts';
import { insideOf } from '../workspace/inside.ts';
import { saveSessionWork } from '../workspace/save-session-work.ts';
import { findSessionFolder } from '../workspace/session-folder.ts';
import { endTerminalsOf } from '../wheel/terminals.ts';
import { agentPrograms, returnCredentials } from '../../sandbox/index.ts';
import { credentialStore } from './agent-launch.ts';
import { budgetPorts, endSpending, settleTurnOf } from '../spending/spending-ports.ts';
import { closeNetwork } from './agent-network.ts';
import { judgePermission } from './judge-permission.ts';
import { planLaunch } from './plan-launch.ts';

const actor = systemActor('sessions');

/** The effect that looks after an author or reviewer whose turn ended without a report. */
export const turnEndedEffect = 'session.turn-ended';

/** What the sessions' domain needs of the rest (its `ports.ts`). `ctx` is a function because the two need each other. */
export function createSessionPorts(ctx: () => AppContext): SessionPorts {
  return {
    async knowsProject(tx, code) {
      return (
        (await tx.db.selectFrom('project').select('id').where('codename', '=', code).executeTakeFirst()) !== undefined
      );
    },
    planLaunch: (session) => planLaunch(ctx(), session),
    judgePermission: (session, ask) => judgePermission(ctx(), session, ask),
    onEnded: (tx, session, how) => settleEnd(tx, session, how),
    async onHoldEnded(tx, _session, decisionId, reason) {
      const call = await tx.db
        .selectFrom('decision_request')
        .select('subject_id')
        .where('id', '=', decisionId)
        .executeTakeFirst();
      if (call) await voidDecisions(tx, { subjectId: call.subject_id }, reason);
    },
    ...budgetPorts(ctx),
    async onTurnEnded(tx, session, stopReason, promptId) {
      await settleTurnOf(tx, ctx(), session, { promptId, isRun: stopReason !== 'error' });
      const row = await findSession(tx.db, session.id);
      await enqueueEffect(tx, {
        key: `turn:${session.id}:${session.generation}:${row?.journal_offset ?? 0}`,
        kind: turnEndedEffect,
        payload: { sessionId: session.id, generation: session.generation, stopReason },
      });
    },
    afterEnded: (session) => clearUp(ctx(), session),
  };
}

/** Ends that no agent can help: not counted as a failed attempt. */
const blameless: readonly string[] = ['limited', restoredReason];

/** In the transaction that ends a session: its task or review goes on without it (README 2.10). */
async function settleEnd(tx: Tx, session: Session, how: SessionEnd): Promise<void> {
  await closeSessionCalls(tx, { sessionId: session.id, reason: 'session_ended' });
  await releasePorts(tx, session.folderKey);
  if (session.role === 'reviewer' && session.pullRequestId) {
    const claim = await tx.db
      .selectFrom('review_claim')
      .select('id')
      .where('session_id', '=', session.id)
      .where('state', '=', 'live')
      .executeTakeFirst();
    if (claim) await releaseReviewClaim(tx, { claimId: claim.id, reason: reviewEnd(how), actor });
    tx.wake(pullRequestsTopic, session.pullRequestId);
    return;
  }
  if (session.taskId && session.taskFence !== null && how.state !== 'DONE') {
    const end = how.state === 'ABORTED' ? 'stopped' : blameless.includes(how.reason) ? 'returned' : 'failed';
    await releaseClaim(tx, { taskId: session.taskId, fence: session.taskFence, end, actor, sessionId: session.id });
  }
  if (session.taskId) tx.wake(pullRequestsTopic);
}

function reviewEnd(how: SessionEnd): string {
  const reasons = { DONE: 'no_verdict', ABORTED: 'stopped', CRASHED: 'crashed', START_FAILED: 'start_failed' } as const;
  if (how.reason === 'no_report') return 'no_verdict';
  return how.reason === 'stalled' ? 'stalled' : reasons[how.state];
}

/** When every process is gone, a human's terminal too: network and door closed, unsaved work into rescue refs, folders that nobody needs removed. */
async function clearUp(ctx: AppContext, session: Session): Promise<void> {
  await endTerminalsOf(ctx, session.id);
  await closeNetwork(ctx, session.id);
  await ctx.bridge.doors.close(session.id);
  await ctx.store.tx((tx) => endSpending(tx, ctx, session));
  for (const program of agentPrograms)
    await returnCredentials({ program, operatorHome: ctx.operatorHome, store: credentialStore(ctx) });
  const place = await findSessionFolder(ctx, session);
  if (!place?.repository) return;
  if (session.role === 'author') {
    await saveSessionWork(ctx, session.id);
    return;
  }
  const removed = await removeWorkFolder(ctx.forge, place.repository, place.folder, insideOf(ctx));
  if (removed.ok)
    await ctx.store.tx((tx) => markWorkFolder(tx, { ownerKey: place.folder.ownerKey, state: 'removed', actor }));
}
