import { ok, type Result } from '../../kernel/index.ts';
import type { Keyed, Tx } from '../../store/index.ts';
import { storeMessage } from '../broker.ts';
import { endSession } from '../end-session.ts';
import { fields } from '../fields.ts';
import type { SessionContext } from '../ports.ts';
import { type CommandResult, commandResult } from '../session.ts';
import { isTerminal } from '../states.ts';
import { type Caller, inContractualOrder, keyedRequest, noSession, wrongState } from './guards.ts';

/** `stop`: any active state → ABORTED (S-40); the process is ended in order after the commit (decision 5). */
export async function stopSession(
  tx: Tx,
  ctx: SessionContext,
  caller: Caller,
  request: { workKey: unknown; reason?: unknown; key: unknown },
): Promise<Result<Keyed<CommandResult>>> {
  const keyed = keyedRequest(ctx, caller, 'stop', request.key, { work_key: request.workKey, reason: request.reason });
  return inContractualOrder(tx, caller, keyed, {
    format() {
      const workKey = fields.workKey(request.workKey, ctx.settings().workKeys);
      if (!workKey.ok || request.reason === undefined || request.reason === null) return workKey;
      const reason = fields.reason(request.reason);
      return reason.ok ? workKey : reason;
    },
    missing: noSession,
    async apply(session) {
      if (isTerminal(session.state)) return wrongState(session, 'stop', 'an active session');
      const ended = await endSession(tx, ctx, session, 'ABORTED', { actor: caller.actor, reason: 'operator' });
      if (!ended.ok) return ended;
      await storeMessage(tx, ended.value, {
        from: 'operator',
        type: 'STOP',
        payload: { reason: typeof request.reason === 'string' ? request.reason : null },
        actor: caller.actor,
      });
      return ok(commandResult(ended.value, tx.now));
    },
  });
}
