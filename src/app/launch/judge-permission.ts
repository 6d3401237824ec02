import type { Json } from '../../kernel/index.ts';
import { callFromAcp, type GatePolicy, judgeCall, loadPolicy, prepareCall, unknownServer } from '../../gate/index.ts';
import type { PermissionAsk, PermissionJudgement, Session } from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';
import { phaseOf } from '../instance/phase-of.ts';
import { findSessionFolder } from '../workspace/session-folder.ts';

/**
 * Judges a permission request of an agent's own protocol at the gate (door two, gate decision 1): allowed and counted,
 * refused with its reason, or held until a human has decided. Asked again with the same id, the answer is the same.
 */
export async function judgePermission(
  ctx: AppContext,
  session: Session,
  ask: PermissionAsk,
): Promise<PermissionJudgement> {
  const place = await findSessionFolder(ctx, session);
  if (!place) return { kind: 'reject', reason: 'the session has no work folder any more' };
  const { folder, repository } = place;
  const policy = policyFor(ctx, repository?.config.policy);
  const toolCall = { ...ask.call, toolCallId: ask.call.callId } as unknown as Json;
  const call = callFromAcp(
    toolCall,
    {
      sessionId: session.id,
      generation: ask.generation,
      requestId: ask.id,
      ...(session.projectId ? { projectId: session.projectId } : {}),
      role: session.role,
      agent: session.agent,
      cwd: folder.clone,
      workFolder: folder.clone,
      privateFolders: [folder.home, folder.cache, folder.tmp],
      sandboxHolds: ctx.barrier.sandbox?.holds === true,
    },
    (label) => ({ ...unknownServer(session.agent, label), ...(label === 'chantier' ? { isOwn: true } : {}) }),
  );
  const prepared = prepareCall(call, policy);
  const judged = await ctx.store.tx((tx) => judgeCall(tx, prepared));
  if (judged.decision === 'allow') return { kind: 'allow' };
  if (judged.decision === 'ask' && judged.decisionId !== undefined)
    return { kind: 'hold', decisionId: judged.decisionId };
  return { kind: 'reject', reason: judged.message };
}

/** The policy of one session: the instance's, then the trusted repository's; broken rules never loosen it. */
function policyFor(ctx: AppContext, repository: { preset: string; rules: readonly unknown[] } | undefined): GatePolicy {
  const sources = {
    phase: phaseOf(ctx),
    allowedHosts: ctx.barrier.rules.map((rule) => rule.host),
  };
  const joined = loadPolicy({ ...sources, ...(repository ? { repository } : {}) });
  if (joined.ok) return joined.value;
  ctx.log.warn(
    { code: joined.refusal.code },
    'the policy of a repository is invalid; the preset "locked" holds instead',
  );
  const locked = loadPolicy({ ...sources, instance: { preset: 'locked' } });
  if (!locked.ok) throw new Error(locked.refusal.message);
  return locked.value;
}
