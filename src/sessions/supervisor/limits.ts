import { openDecision, type Tx } from '../../store/index.ts';
import { accountOfSession, limitAccount, probeAccount, type ProviderLimit, readAccount } from '../account-limits.ts';
import { goOn } from '../commands/pause-session.ts';
import { emitOf } from '../events.ts';
import { holdTurn } from '../hold-turn.ts';
import type { SessionContext } from '../ports.ts';
import { lockSession, type SessionRow } from '../session-store.ts';
import { transition } from '../transition.ts';
import { supervisorActor } from './crash.ts';

/**
 * The provider takes nothing more (design 7): the account is `limited until T`, RUNNING → PAUSED with the flag, the generation
 * ended on purpose; after T the same conversation goes on by itself. Without a time to wait for (log-in, billing) a human is
 * asked, once for the account.
 */
export async function applyLimit(
  tx: Tx,
  ctx: SessionContext,
  session: SessionRow,
  limit: ProviderLimit,
): Promise<void> {
  const account = accountOfSession(session);
  const until = await limitAccount(tx, account, limit);
  await tx.db
    .updateTable('session')
    .set({ limited_until: until, account, updated_at: tx.now })
    .where('id', '=', session.id)
    .execute();
  await emitOf(tx, session, 'session.flagged', supervisorActor, {
    flag: 'limited',
    on: true,
    limit: limit.reason,
    until,
    basis: limit.asserted ? 'asserted' : 'inferred',
  });
  if (until === null) await askForHelp(tx, session, account, limit.reason);
  if (session.state !== 'RUNNING') return;
  const paused = await transition(tx, session.id, 'RUNNING', 'PAUSED', { actor: supervisorActor, reason: 'limited' });
  if (!paused.ok) return;
  await holdTurn(tx, ctx, paused.value);
  if (session.process === 'live')
    await tx.db.updateTable('session').set({ process: 'ending' }).where('id', '=', session.id).execute();
}

/** An agent did not start because it is not logged in: nothing more is started on its account until a human has seen to it. */
export async function closeUntilLoggedIn(tx: Tx, session: SessionRow, message: string): Promise<void> {
  const account = accountOfSession(session);
  await limitAccount(tx, account, { kind: 'limit', reason: 'auth', asserted: true });
  await askForHelp(tx, session, account, 'auth', message);
}

/**
 * The time of a limited session is over: it goes on, the first of its account alone to try it. While that one has not got
 * through, or another session was told a later time, this one waits on.
 */
export async function endLimit(ctx: SessionContext, row: SessionRow): Promise<void> {
  await ctx.store.tx(async (tx) => {
    const session = await lockSession(tx, row.id);
    if (session?.state !== 'PAUSED' || session.reason !== 'limited') return;
    const account = accountOfSession(session);
    const state = await readAccount(tx.db, account, tx.now);
    if (state.kind === 'limited') {
      await tx.db
        .updateTable('session')
        .set({ limited_until: state.until, updated_at: tx.now })
        .where('id', '=', session.id)
        .execute();
      return;
    }
    if (state.kind === 'probe') await probeAccount(tx, account, session.id);
    await emitOf(tx, session, 'session.flagged', supervisorActor, { flag: 'limited', on: false });
    await goOn(tx, ctx, session, { actor: supervisorActor, reason: 'limit_over', key: 'limit' });
  });
}

async function askForHelp(
  tx: Tx,
  session: SessionRow,
  account: string,
  reason: ProviderLimit['reason'],
  message?: string,
): Promise<void> {
  const what =
    reason === 'auth'
      ? `is not logged in: log ${session.agent} in, then approve`
      : 'refuses for its bill: settle it with the provider, then approve';
  await openDecision(tx, {
    kind: 'provider_limit',
    subject: { kind: 'account', id: account },
    sessionId: session.id,
    title: `The account ${account} ${what}; its sessions go on`,
    detail: {
      agent: session.agent,
      account,
      reason,
      work_key: session.work_key,
      ...(message === undefined ? {} : { message }),
    },
    actor: supervisorActor,
  });
}
