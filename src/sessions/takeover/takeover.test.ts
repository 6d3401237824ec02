import { expect, it } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { eachStore } from '../../store/testing.ts';
import { accountOfSession, limitAccount, type ProviderLimit, reopenAccount } from '../account-limits.ts';
import { lockHolder } from '../agent-side/holder.ts';
import { readStatus } from '../status.ts';
import { dueTimer } from '../supervisor/timers.ts';
import { caller, operator, sessionWorld } from '../testing.ts';
import { tellSession } from '../tell-session.ts';
import { handBack } from './hand-back.ts';
import { takeOver } from './take-over.ts';
import { lastHandback, openTakeover } from './takeover-store.ts';

eachStore((_dialect, open) => {
  async function setup() {
    const { store, clock } = await open();
    const world = sessionWorld(store);
    const take = (sessionId: string, by = 'ada') =>
      store.tx((tx) => takeOver(tx, world.ctx, operator, { sessionId, by }));
    const giveBack = (sessionId: string, takeoverId: string) =>
      store.tx((tx) => handBack(tx, operator, { sessionId, takeoverId, note: 'look', endCommit: 'c2' }));
    /** What the supervisor does once every process of the generation is gone. */
    const gone = (sessionId: string) =>
      store.tx((tx) => tx.db.updateTable('session').set({ process: 'ended' }).where('id', '=', sessionId).execute());
    const limit = async (sessionId: string, what: ProviderLimit) => {
      const account = accountOfSession(await world.row(sessionId));
      await store.tx((tx) => limitAccount(tx, account, what));
    };
    return { ...world, clock, take, giveBack, gone, limit };
  }

  it('ends the generation with a fence: PAUSED with the flag, its token void, its process to be ended, its slot kept (design 7, S-19)', async () => {
    const world = await setup();
    const holder = await world.running();
    const taken = mustOk(await world.take(holder.sessionId));
    expect(await world.row(holder.sessionId)).toMatchObject({
      state: 'PAUSED',
      taken_over: 1,
      reason: 'taken_over',
      process: 'ending',
      token_hash: null,
    });
    expect(await world.store.tx((tx) => lockHolder(tx, holder))).toMatchObject({
      refusal: { code: 'generation_replaced' },
    });
    const [view] = await readStatus(world.store.read);
    expect(view).toMatchObject({ takeover: { by: 'ada' }, waiting_for: 'operator' });
    expect(taken.generation).toBe(1);
    expect(await world.run('resume', { workKey: 'PD-1' })).toMatchObject({ refusal: { code: 'taken_over' } });
    expect((await world.events('session.flagged')).at(-1)?.facts).toMatchObject({ flag: 'taken_over', on: true });
  });

  it('no timer touches a session that a human has taken over, were it stalled or limited before (design 7)', async () => {
    const world = await setup();
    const { sessionId } = await world.running();
    mustOk(await world.take(sessionId));
    const row = await world.row(sessionId);
    const later = world.clock.now() + 86_400_000;
    const old = {
      ...row,
      process: 'ended' as const,
      reason: 'limited',
      limited_until: 1,
      stalled_since: 1,
      unresponsive_since: 1,
    };
    expect(dueTimer({ ...old, turn_open: 1 }, world.settings, later)).toBeUndefined();
  });

  it('closes open questions as taken over before it pauses, and keeps an answer that was on its way as a text (design 7, S-12)', async () => {
    const world = await setup();
    const holder = await world.running();
    const first = await world.ask(holder, 'Which word?');
    const second = await world.ask(holder, 'Which colour?');
    await world.must('respond', { workKey: 'PD-1', text: 'hello' });
    mustOk(await world.take(holder.sessionId));
    const rows = await world.store.read.selectFrom('escalation').selectAll().orderBy('ord').execute();
    expect(rows).toMatchObject([
      { id: first, status: 'ANSWERED', delivery: 'void' },
      { id: second, status: 'CLOSED', closure_reason: 'taken_over' },
    ]);
    const prompts = await world.store.read.selectFrom('prompt').selectAll().execute();
    expect(prompts).toMatchObject([{ source_key: `answered:${first}`, state: 'queued' }]);
    expect(prompts[0]?.text).toContain('hello');
    const moves = (await world.events('session.moved')).map(({ facts }) => `${facts.from} ${facts.to}`);
    expect(moves.slice(-2)).toEqual(['ESCALATED RUNNING', 'RUNNING PAUSED']);
  });

  it('one human at a time; reviewers, ended sessions and finished work are not taken over (design 7)', async () => {
    const world = await setup();
    const { sessionId } = await world.running();
    mustOk(await world.take(sessionId));
    const second = await world.take(sessionId, 'grace');
    expect(second).toMatchObject({ refusal: { kind: 'duplicate', code: 'already_taken_over', facts: { by: 'ada' } } });
    const reviewer = await world.running('pr-1/r1', 'reviewer');
    expect(await world.take(reviewer.sessionId)).toMatchObject({ refusal: { code: 'not_an_author' } });
    const ended = await world.running('PD-2');
    await world.must('stop', { workKey: 'PD-2' });
    expect(await world.take(ended.sessionId)).toMatchObject({ refusal: { code: 'wrong_state' } });
  });

  it('handback starts the next generation on the same conversation, once; the old process has to be gone (design 7)', async () => {
    const world = await setup();
    const { sessionId } = await world.running();
    await world.store.tx((tx) =>
      tx.db.updateTable('session').set({ conversation_id: 'conv' }).where('id', '=', sessionId).execute(),
    );
    const taken = mustOk(await world.take(sessionId));
    expect(await world.giveBack(sessionId, taken.id)).toMatchObject({ refusal: { code: 'still_ending' } });
    await world.gone(sessionId);
    mustOk(await world.giveBack(sessionId, taken.id));
    expect(await world.row(sessionId)).toMatchObject({
      state: 'RUNNING',
      taken_over: 0,
      generation: 2,
      process: 'wanted',
      resume_conversation_id: 'conv',
    });
    expect(await lastHandback(world.store.read, [sessionId])).toMatchObject({
      outcome: 'handed_back',
      resumed_generation: 2,
      note: 'look',
      end_commit: 'c2',
    });
    expect(await world.giveBack(sessionId, taken.id)).toMatchObject({ refusal: { code: 'not_taken_over' } });
  });

  it('handed back under a limit of the provider it stays PAUSED and goes on when that is over (design 7)', async () => {
    const world = await setup();
    const { sessionId } = await world.running();
    const until = world.clock.now() + 60_000;
    await world.limit(sessionId, { kind: 'limit', reason: 'usage', untilMs: until, asserted: true });
    const taken = mustOk(await world.take(sessionId));
    await world.gone(sessionId);
    expect(mustOk(await world.giveBack(sessionId, taken.id))).toMatchObject({ state: 'PAUSED', reason: 'limited' });
    const row = await world.row(sessionId);
    expect(dueTimer(row, world.settings, until)).toBe('limit_over');
  });

  it('handed back while its account waits for a human it starts nothing, and goes on when that is settled (design 7)', async () => {
    const world = await setup();
    const { sessionId } = await world.running();
    const taken = mustOk(await world.take(sessionId));
    await world.gone(sessionId);
    // Another session of the account met this while the human was at the wheel.
    await world.limit(sessionId, { kind: 'limit', reason: 'auth', asserted: true });
    expect(mustOk(await world.giveBack(sessionId, taken.id))).toMatchObject({
      state: 'PAUSED',
      reason: 'limited',
      limited_until: null,
      process: 'ended',
    });
    await world.store.tx((tx) => reopenAccount(tx, 'agent:turing'));
    expect(dueTimer(await world.row(sessionId), world.settings, world.clock.now())).toBe('limit_over');
  });

  it('handed back after its account was opened again it goes on at once (design 7)', async () => {
    const world = await setup();
    const { sessionId } = await world.running();
    await world.store.tx((tx) =>
      tx.db
        .updateTable('session')
        .set({ limited_until: world.clock.now() + 60_000 })
        .where('id', '=', sessionId)
        .execute(),
    );
    const taken = mustOk(await world.take(sessionId));
    await world.gone(sessionId);
    expect(mustOk(await world.giveBack(sessionId, taken.id))).toMatchObject({ state: 'RUNNING', process: 'wanted' });
  });

  it('stopping a taken-over session takes the wheel away; texts told meanwhile get their verdict (design 7, decision 8)', async () => {
    const world = await setup();
    const { sessionId } = await world.running();
    mustOk(await world.take(sessionId));
    const told = { session: sessionId, text: 'later', now: true, key: 'k' };
    const first = mustOk(await world.store.tx((tx) => tellSession(tx, world.ctx, caller, told)));
    const again = mustOk(await world.store.tx((tx) => tellSession(tx, world.ctx, caller, told)));
    expect(again).toMatchObject({ replayed: true, value: { prompt_id: first.value.prompt_id } });
    await world.must('stop', { workKey: 'PD-1' });
    expect(await openTakeover(world.store.read, sessionId)).toBeUndefined();
    expect(await world.row(sessionId)).toMatchObject({ state: 'ABORTED', taken_over: 0 });
    const prompts = await world.store.read.selectFrom('prompt').select('state').execute();
    expect(prompts).toEqual([{ state: 'not_delivered' }]);
  });
});
