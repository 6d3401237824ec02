import { randomBytes } from 'node:crypto';

import { Fault, sha256 } from '../../kernel/index.ts';
import { runMarkerName } from '../../sandbox/index.ts';
import { emitOf } from '../events.ts';
import { type Generation, generationFolder, openGeneration, runMarker, startGeneration } from '../host/index.ts';
import type { LaunchPlan, SessionContext } from '../ports.ts';
import { enqueuePrompt, foldPrompts } from '../prompts.ts';
import { toSession } from '../session.ts';
import { lockSession, type SessionRow } from '../session-store.ts';
import { isTerminal } from '../states.ts';
import { supervisorActor } from './crash.ts';
import { type LaunchRecord, makeStateFolder, writeLaunchRecord } from './launch-record.ts';

/** What came of a try to launch a generation. */
export type LaunchOutcome =
  | { kind: 'launched'; generation: Generation; record: LaunchRecord }
  /** The session was ended or replaced meanwhile. */
  | { kind: 'not-wanted' }
  /** It cannot be started; final. */
  | { kind: 'failed'; reason: string }
  | { kind: 'try-again'; error: unknown };

/**
 * Launches a generation as a saga (S-23): plan, then one transaction that stores the token's hash and the wish, then the
 * making of the generation's folder as the key of the process start. Whatever dies in between, at most one process comes of
 * it: without the folder nothing was started and the launch is done again; with it the process is adopted.
 */
export async function launchGeneration(
  ctx: SessionContext,
  sessionsFolder: string,
  row: SessionRow,
): Promise<LaunchOutcome> {
  let plan: LaunchPlan;
  try {
    const planned = await ctx.ports.planLaunch(toSession(row));
    if (!planned.ok) return { kind: 'failed', reason: planned.refusal.code };
    plan = planned.value;
    return await start(ctx, sessionsFolder, row, plan);
  } catch (error) {
    const isFinal = error instanceof Fault && !error.retryable;
    return isFinal ? { kind: 'failed', reason: error.code } : { kind: 'try-again', error };
  }
}

async function start(
  ctx: SessionContext,
  sessionsFolder: string,
  row: SessionRow,
  plan: LaunchPlan,
): Promise<LaunchOutcome> {
  const token = randomBytes(32).toString('base64url');
  const variables = {
    CHANTIER_TOKEN: token,
    CHANTIER_SESSION: row.id,
    CHANTIER_GENERATION: String(row.generation),
    [runMarkerName]: runMarker(row.id, row.generation),
  };
  const stateFolder = await makeStateFolder(sessionsFolder, row.id, row.generation);
  const command = await plan.wrap(variables, stateFolder);
  const record: LaunchRecord = {
    profile: plan.profile,
    cwd: plan.cwd,
    mcpServers: plan.mcpServers(variables),
    conversationId: plan.conversationId ?? row.resume_conversation_id,
  };
  if (!(await storeLaunch(ctx, row, sha256(token), plan))) return { kind: 'not-wanted' };
  await writeLaunchRecord(sessionsFolder, row.id, row.generation, record);
  const started = await startGeneration({
    sessionsFolder,
    sessionId: row.id,
    generation: row.generation,
    command,
    clock: ctx.store.clock,
  });
  if (started.ok) return { kind: 'launched', generation: started.value, record };
  const folder = generationFolder(sessionsFolder, row.id, row.generation);
  const existing = await openGeneration(folder, { clock: ctx.store.clock });
  return existing.ok
    ? { kind: 'launched', generation: existing.value, record }
    : { kind: 'failed', reason: existing.refusal.code };
}

/** The commit point: from here on the process may exist. The brief is queued with it, once for the generation. */
async function storeLaunch(
  ctx: SessionContext,
  row: SessionRow,
  tokenHash: string,
  plan: LaunchPlan,
): Promise<boolean> {
  return ctx.store.tx(async (tx) => {
    const session = await lockSession(tx, row.id);
    const isWanted =
      session !== undefined &&
      !isTerminal(session.state) &&
      session.generation === row.generation &&
      (session.process === 'wanted' || session.process === 'launching');
    if (!isWanted) return false;
    await tx.db
      .updateTable('session')
      .set({
        process: 'launching',
        token_hash: tokenHash,
        launched_at: tx.now,
        account: plan.account ?? session.account,
        updated_at: tx.now,
        resume_conversation_id: plan.conversationId ?? session.resume_conversation_id,
      })
      .where('id', '=', session.id)
      .execute();
    if (plan.foldedPrompts) await foldPrompts(tx, session, plan.foldedPrompts);
    if (plan.firstPrompt !== undefined)
      await enqueuePrompt(tx, session, {
        kind: 'brief',
        sourceKey: `brief:${session.generation}`,
        text: plan.firstPrompt,
      });
    await emitOf(tx, session, 'session.launched', supervisorActor, {
      agent: session.agent,
      driver: plan.profile.driver,
      agent_profile: plan.profile.name,
    });
    return true;
  });
}
