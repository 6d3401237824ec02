import { expect, it } from 'vitest';

import type { Actor } from '../kernel/index.ts';
import { type NewDecision, openDecision, settleDecision, voidDecisions } from './decision-requests.ts';
import { readEvents } from './read-events.ts';
import type { Store } from './store.ts';
import { eachStore } from './testing.ts';

const operator: Actor = { kind: 'operator', id: 'op', channel: 'console' };
const question: NewDecision = {
  kind: 'landing',
  subject: { kind: 'pull-request', id: 'pr1' },
  projectId: 'p1',
  title: 'Land it?',
  detail: { head: 'abc' },
};

const ask = (store: Store, more: Partial<NewDecision> = {}): Promise<string> =>
  store.tx((tx) => openDecision(tx, { ...question, ...more }));

eachStore((dialect, open) => {
  it('opens once for its subject and counts when asked again', async () => {
    const { store } = await open();
    const first = await ask(store);
    expect(await ask(store)).toBe(first);
    const row = await store.read.selectFrom('decision_request').selectAll().executeTakeFirstOrThrow();
    expect(row).toMatchObject({ id: first, count: 2, state: 'open', dedupe_key: 'landing:pr1' });
    await store.settled();
    expect((await readEvents(store)).map((event) => event.kind)).toEqual(['decision.opened']);
  });

  it('opens once even when many ask at once', async () => {
    const { store, reopen } = await open();
    const nodes = dialect === 'postgres' ? [store, await reopen()] : [store];
    const ids = await Promise.all(
      Array.from({ length: 10 }, (_value, index) => ask(nodes[index % nodes.length] as Store)),
    );
    expect(new Set(ids).size).toBe(1);
    const row = await store.read.selectFrom('decision_request').select('count').executeTakeFirstOrThrow();
    expect(row.count).toBe(10);
  });

  it('is settled once: the second is told what was decided', async () => {
    const { store } = await open();
    const id = await ask(store);
    const settle = (outcome: string) => store.tx((tx) => settleDecision(tx, id, { outcome, actor: operator }));
    const answers = await Promise.all([settle('approved'), settle('refused')]);
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    const refused = answers.find((answer) => !answer.ok);
    expect(refused).toMatchObject({ refusal: { kind: 'wrong-state', code: 'decision_closed' } });
    expect(await store.tx((tx) => settleDecision(tx, 'nope', { outcome: 'approved', actor: operator }))).toMatchObject({
      refusal: { kind: 'not-found' },
    });
  });

  it('may be asked again once it is settled', async () => {
    const { store } = await open();
    const first = await ask(store);
    await store.tx((tx) => settleDecision(tx, first, { outcome: 'refused', actor: operator }));
    expect(await ask(store)).not.toBe(first);
  });

  it('goes away with its subject, leaving an event for each', async () => {
    const { store } = await open();
    const id = await ask(store);
    await ask(store, { subject: { kind: 'pull-request', id: 'pr2' } });
    expect(await store.tx((tx) => voidDecisions(tx, { subjectId: 'pr1' }, 'abandoned'))).toEqual([id]);
    const states = await store.read
      .selectFrom('decision_request')
      .select(['subject_id', 'state'])
      .orderBy('subject_id')
      .execute();
    expect(states).toEqual([
      { subject_id: 'pr1', state: 'void' },
      { subject_id: 'pr2', state: 'open' },
    ]);
    await store.settled();
    expect((await readEvents(store)).at(-1)).toMatchObject({ kind: 'decision.voided', subject_id: id });
  });

  it('cuts a title at 300 characters, between them', async () => {
    const { store } = await open();
    await ask(store, { title: '🙂'.repeat(400) });
    const row = await store.read.selectFrom('decision_request').select('title').executeTakeFirstOrThrow();
    expect([...row.title]).toHaveLength(300);
  });
});
