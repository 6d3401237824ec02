import type { Actor, Json } from '../../kernel/index.ts';
import {
  callFromAcp,
  type GatePolicy,
  judgeCall,
  loadPolicy,
  prepareCall,
  type PreparedCall,
  spendApproval,
  unknownServer,
} from '../../gate/index.ts';
import {
  answerPermission,
  permissionAskOf,
  type PermissionAsk,
  type PermissionJudgement,
  type Session,
  toSession,
} from '../../sessions/index.ts';
import type { AppContext } from '../context.ts';
import { phaseOf } from '../instance/phase-of.ts';
import { findSessionFolder } from '../workspace/session-folder.ts';
import { isOwnTool } from './own-tools.ts';

/**
 * Judges a permission request of an agent's own protocol at the gate (door two, gate decision 1): allowed and counted,
 * refused with its reason, or held until a human has decided. Asked again with the same id, the answer is the same.
 */
export async function judgePermission(
  ctx: AppContext,
  session: Session,
  ask: PermissionAsk,
): Promise<PermissionJudgement> {
  const prepared = await prepareAsk(ctx, session, ask);
  if (!prepared) return { kind: 'reject', reason: 'the session has no work folder any more' };
  const judged = await ctx.store.tx((tx) => judgeCall(tx, prepared));
  if (judged.decision === 'allow') return { kind: 'allow' };
  if (judged.decision === 'ask' && judged.decisionId !== undefined)
    return { kind: 'hold', decisionId: judged.decisionId };
  return { kind: 'reject', reason: judged.message };
}

/** Lets a held request go on after a human's yes: what will run is looked at again, the yes is spent, then the agent is told. */
export async function releaseHeldCall(
  ctx: AppContext,
  held: { callId: string; permissionId: string; actor: Actor },
): Promise<void> {
  const request = await ctx.store.read
    .selectFrom('permission_request')
    .selectAll()
    .where('id', '=', held.permissionId)
    .executeTakeFirst();
  if (!request || request.state !== 'held') return; // its turn ended meanwhile
  const row = await ctx.store.read
    .selectFrom('session')
    .selectAll()
    .where('id', '=', request.session_id)
    .executeTakeFirstOrThrow();
  const prepared = await prepareAsk(ctx, toSession(row), permissionAskOf(request));
  await ctx.store.tx(async (tx) => {
    const spent = prepared ? await spendApproval(tx, { callId: held.callId, prepared }) : undefined;
    const allow = spent?.ok === true && spent.value.decision === 'allow';
    const reason = spent?.ok ? spent.value.message : 'the session has no work folder any more';
    await answerPermission(
      tx,
      { permissionId: held.permissionId },
      { allow, actor: held.actor, ...(allow ? {} : { reason }) },
    );
  });
}

/** The request as a call of the gate, with everything that is judged before the transaction. */
async function prepareAsk(ctx: AppContext, session: Session, ask: PermissionAsk): Promise<PreparedCall | undefined> {
  const place = await findSessionFolder(ctx, session);
  if (!place) return undefined;
  const { folder, repository } = place;
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
    (label) => ({
      ...unknownServer(session.agent, label),
      ...(label === 'chantier' && isOwnTool(ask.call, ctx.bridge.tools) ? { isOwn: true } : {}),
    }),
  );
  return prepareCall(call, policyFor(ctx, repository?.config.policy));
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
