import { describe, expect, it } from 'vitest';

import { type Actor, mustOk, newId } from '../../kernel/index.ts';
import { cancelTask, completeTask, pauseTask, resumeTask } from '../../ledger/index.ts';
import { machine, world } from '../../ledger/testing.ts';
import { type DecisionKind, openDecision, type Store } from '../../store/index.ts';
import { eachStore, type TestStore } from '../../store/testing.ts';
import type { VerdictRequest } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { decisionUseCases } from './use-cases.ts';

/** A paused task and an open question about it; verdicts come from operators by name. */
async function setup(open: () => Promise<TestStore>, kind: DecisionKind) {
  const { store } = await open();
  const w = await world(store);
  const taskId = w.ids.a!;
  mustOk(await store.tx((tx) => pauseTask(tx, { taskId, actor: machine })));
  const subject = { kind: 'task' as const, id: taskId };
  const id = await store.tx((tx) => openDecision(tx, { kind, subject, title: 'Question', detail: {} }));
  const decisions = decisionUseCases({ store } as unknown as AppContext);
  const settle = (name: string, verdict: VerdictRequest['verdict']) =>
    decisions.settle(callerOf(name), id, { verdict });
  return { store, w, taskId, id, settle };
}

function callerOf(id: string): Caller {
  return { actor: operatorOf(id), proof: 'fresh', scope: `user:${id}`, idempotencyKey: newId() };
}

function operatorOf(id: string): Actor {
  return { kind: 'operator', id, channel: 'console' };
}

async function decisionOf(store: Store, id: string) {
  return store.read.selectFrom('decision_request').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

eachStore((_dialect, open) => {
  it.each(['attempts_exhausted', 'nothing_delivered'] as const)(
    'G-22: of two opposite verdicts on %s at the same time one happens, and nothing of the other',
    async (kind) => {
      const { store, w, id, settle } = await setup(open, kind);
      const answers = await Promise.all([settle('ada', 'approve'), settle('bob', 'refuse')]);
      const won = answers.findIndex((answer) => answer.ok);
      expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
      expect(answers[1 - won]).toMatchObject({ refusal: { kind: 'wrong-state', code: 'decision_closed' } });
      expect(await decisionOf(store, id)).toMatchObject({
        state: 'settled',
        outcome: won === 0 ? 'approved' : 'refused',
        settled_by: won === 0 ? 'ada' : 'bob',
      });
      const expected =
        kind === 'attempts_exhausted' ? { 0: 'todo', 1: 'cancelled' }[won] : { 0: 'done', 1: 'todo' }[won];
      expect((await w.task('a')).status).toBe(expected);
    },
  );

  it('G-22: the same verdict of two operators at the same time is one, and both are told so', async () => {
    const { settle } = await setup(open, 'attempts_exhausted');
    const answers = await Promise.all([settle('ada', 'approve'), settle('bob', 'approve')]);
    expect(answers.map((answer) => answer.ok && answer.value.replayed).toSorted()).toEqual([false, true]);
  });

  it.each([
    ['resumed', resumeTask],
    ['cancelled', cancelTask],
  ] as const)('the question whether nothing had to change goes when its task is %s by other means', async (_, act) => {
    const { store, taskId, id, settle } = await setup(open, 'nothing_delivered');
    mustOk(await store.tx((tx) => act(tx, { taskId, actor: operatorOf('ada') })));
    expect(await decisionOf(store, id)).toMatchObject({ state: 'void' });
    expect(await settle('bob', 'approve')).toMatchObject({ refusal: { code: 'decision_closed' } });
  });
});

describe('a task that is done', () => {
  eachStore((_dialect, open) => {
    it('leaves no question whether nothing had to change', async () => {
      const { store, taskId, id } = await setup(open, 'nothing_delivered');
      mustOk(await store.tx((tx) => resumeTask(tx, { taskId, actor: operatorOf('ada') })));
      const subject = { kind: 'task' as const, id: taskId };
      const again = await store.tx((tx) =>
        openDecision(tx, { kind: 'nothing_delivered', subject, title: 'Question', detail: {} }),
      );
      const by = { kind: 'human' as const, reason: 'done by hand', proof: true };
      mustOk(await store.tx((tx) => completeTask(tx, { taskId, by, actor: operatorOf('ada') })));
      expect([await decisionOf(store, id), await decisionOf(store, again)]).toMatchObject([
        { state: 'void' },
        { state: 'void' },
      ]);
    });
  });
});
