import { ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import { probeAccount, readAccount } from '../../sessions/index.ts';
import type { Schema, Tx } from '../../store/index.ts';
import { accountOf } from '../launch/account-of.ts';
import type { Db } from './db.ts';

/**
 * Lets a session that was just created use the account of its agent, or refuses `account_limited`, which undoes its start:
 * nothing is started on a limited account (design section 7). After the limit's time one session tries it first.
 */
export async function useAccount(tx: Tx, codename: string, sessionId: string): Promise<Result<undefined>> {
  const agent = await tx.db.selectFrom('agent').selectAll().where('codename', '=', codename).executeTakeFirst();
  if (!agent) return ok();
  const account = accountOf(agent, process.env);
  const state = await readAccount(tx.db, account, tx.now);
  if (state.kind === 'probe') await probeAccount(tx, account, sessionId);
  if (state.kind !== 'limited') return ok();
  const until =
    state.until === null ? 'until a human settles it (`chantier pending`)' : `until ${toRfc3339(state.until)}`;
  return refuse(
    'quota',
    'account_limited',
    `The account ${account} of ${codename} is limited ${until} (${state.reason}); nothing is started on it before.`,
    { account, until: state.until },
  );
}

/** Whether the account of an agent takes nothing now, for those who choose among several. */
export async function isLimited(db: Db, agent: Schema['agent'], now: number): Promise<boolean> {
  return (await readAccount(db, accountOf(agent, process.env), now)).kind === 'limited';
}
