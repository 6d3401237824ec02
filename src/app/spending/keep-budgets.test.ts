import { expect, it } from 'vitest';

import { spendingWorld } from '../../../test/app/spending-world.ts';
import { pauseForBudget, reopenAccount, type SessionRow } from '../../sessions/index.ts';
import type { Tx } from '../../store/index.ts';
import { eachStore } from '../../store/testing.ts';
import type { AppContext } from '../context.ts';
import { goOnIfRoom } from './keep-budgets.ts';

eachStore((_dialect, open) => {
  async function paused(change: Partial<SessionRow> = {}) {
    const { store } = await open();
    const world = spendingWorld(store);
    const { sessionId } = await world.sessions.running();
    const set = (tx: Tx, values: Partial<SessionRow>) =>
      tx.db.updateTable('session').set(values).where('id', '=', sessionId).execute();
    await store.tx((tx) => set(tx, { summary: null, ...change }));
    const row = await world.sessions.row(sessionId);
    await store.tx((tx) => pauseForBudget(tx, world.sessions.ctx, row));
    const ctx = { spending: world.ctx, sessions: world.sessions.ctx } as unknown as AppContext;
    const goOn = () => store.tx((tx) => goOnIfRoom(tx, ctx, sessionId));
    return { store, sessionId, goOn, row: () => world.sessions.row(sessionId) };
  }

  it('a session that met a limit of its provider long ago goes on after its budget has room (sessions decision 7)', async () => {
    const world = await paused({ limited_until: 1 });
    expect(await world.row()).toMatchObject({ state: 'PAUSED', reason: 'budget' });
    await world.goOn();
    expect(await world.row()).toMatchObject({ state: 'RUNNING' });
  });

  it('where its account is closed meanwhile it waits for that, and goes on by itself afterwards (design 7)', async () => {
    const world = await paused();
    const account = 'agent:turing';
    const closed = {
      reason: 'auth',
      limited_until: null,
      strikes: 1,
      probe_session_id: null,
      probe_since: null,
    } as const;
    await world.store.tx((tx) =>
      tx.db
        .insertInto('account_limit')
        .values({ account, ...closed, updated_at: tx.now })
        .execute(),
    );
    await world.goOn();
    expect(await world.row()).toMatchObject({
      state: 'PAUSED',
      reason: 'limited',
      limited_until: null,
      process: 'ending',
    });
    await world.store.tx((tx) => reopenAccount(tx, account));
    expect((await world.row()).limited_until).not.toBeNull();
  });
});
