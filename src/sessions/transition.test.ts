import { describe, expect, it } from 'vitest';

import { systemActor } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { allowedTransitions, isTerminal, sessionMoves, sessionStates } from './states.ts';
import { sessionWorld } from './testing.ts';
import { transition } from './transition.ts';

const actor = systemActor('test');
const pairs = sessionStates.flatMap((from) => sessionStates.map((to) => ({ from, to })));
const listed = new Set(
  [
    'STARTING RUNNING',
    'STARTING ABORTED',
    'STARTING START_FAILED',
    'RUNNING ESCALATED',
    'RUNNING PAUSED',
    'RUNNING DONE',
    'RUNNING ABORTED',
    'RUNNING CRASHED',
    'ESCALATED RUNNING',
    'ESCALATED ABORTED',
    'ESCALATED CRASHED',
    'PAUSED RUNNING',
    'PAUSED ABORTED',
    'PAUSED CRASHED',
  ].map(String),
);

describe('the table of moves (S-9, S7.2)', () => {
  it('holds 14 moves between eight states', () => {
    expect(sessionStates).toHaveLength(8);
    expect(pairs.filter(({ from, to }) => allowedTransitions(from).includes(to))).toHaveLength(14);
  });

  it('knows four terminal states, which nothing leaves (S-11)', () => {
    const terminal = sessionStates.filter(isTerminal);
    expect(terminal).toEqual(['DONE', 'ABORTED', 'CRASHED', 'START_FAILED']);
    for (const state of terminal) expect(sessionMoves[state]).toEqual([]);
  });
});

eachStore((_dialect, open) => {
  it('TC-INV-01, TC-INV-02, S-10: of all 64 pairs only the listed ones pass, each refusal is logged, nothing leaves an end', async () => {
    const { store } = await open();
    const world = sessionWorld(store, { settings: { maxActive: 100 } });
    const { session_id: id } = await world.must('start', { workKey: 'PD-1' });
    for (const { from, to } of pairs) {
      const outcome = await store.tx(async (tx) => {
        await tx.db
          .updateTable('session')
          .set({ state: from, ended_at: isTerminal(from) ? 1 : null })
          .where('id', '=', id)
          .execute();
        return { moved: await transition(tx, id, from, to, { actor }) };
      });
      const expected = listed.has(`${from} ${to}`);
      expect(outcome.moved.ok, `${from} → ${to}`).toBe(expected);
      expect((await world.row(id)).state).toBe(expected ? to : from);
    }
    expect(await world.events('session.moved')).toHaveLength(14);
    const rejected = await world.events('session.move-rejected');
    const unlisted = pairs.filter(({ from, to }) => !listed.has(`${from} ${to}`));
    expect(unlisted).toHaveLength(50);
    expect(rejected.map(({ facts: { from, to, found } }) => ({ from, to, found }))).toEqual(
      unlisted.map(({ from, to }) => ({ from, to, found: from })),
    );
  });

  it('compares and sets: refuses when the stored state is another one (S-13)', async () => {
    const { store } = await open();
    const world = sessionWorld(store);
    const { sessionId } = await world.running();
    const outcome = await store.tx(async (tx) => ({
      moved: await transition(tx, sessionId, 'PAUSED', 'RUNNING', { actor }),
    }));
    expect(outcome.moved).toMatchObject({ ok: false, refusal: { code: 'move_rejected', facts: { found: 'RUNNING' } } });
    expect(await world.events('session.move-rejected')).toHaveLength(1);
  });
});
