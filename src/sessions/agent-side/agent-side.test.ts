import { expect, it } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { listPeers } from '../broker.ts';
import { readStatus } from '../status.ts';
import { sessionWorld } from '../testing.ts';
import { eachStore } from '../../store/testing.ts';
import { askHuman, waitAnswer } from './ask-human.ts';
import { checkMessages, listPeersFor, sendMessage } from './messages.ts';
import { markDone, reportCheckpoint, reportStatus, setSummary } from './report.ts';

eachStore((_dialect, open) => {
  async function setup() {
    const { store, clock } = await open();
    return { ...sessionWorld(store), clock };
  }

  it('a status line is stored, its text is in no event (S-43, S-62)', async () => {
    const world = await setup();
    const holder = await world.running();
    mustOk(await reportStatus(world.ctx, holder, { text: 'planted status line' }));
    mustOk(await reportCheckpoint(world.ctx, holder, { name: 'lint', passed: true, text: 'planted checkpoint' }));
    mustOk(await setSummary(world.ctx, holder, { summary: 'planted summary' }));
    const reports = await world.store.read
      .selectFrom('session_report')
      .select(['kind', 'text'])
      .orderBy('ord')
      .execute();
    expect(reports).toEqual([
      { kind: 'status', text: 'planted status line' },
      { kind: 'checkpoint', text: 'planted checkpoint' },
    ]);
    expect((await world.row(holder.sessionId)).summary).toBe('planted summary');
    expect(JSON.stringify(await world.events())).not.toContain('planted');
  });

  it('a status line of a seen peer is its first liveness: STARTING → RUNNING (S-28)', async () => {
    const world = await setup();
    const { session_id: id } = await world.must('start', { workKey: 'PD-1' });
    const holder = { ...(await world.running('PD-2')), sessionId: id as never, workKey: 'PD-1' };
    mustOk(await reportStatus(world.ctx, holder, { text: 'not seen yet' }));
    expect((await world.row(id)).state).toBe('STARTING');
    await world.store.tx((tx) => tx.db.updateTable('session').set({ peer_seen_at: 1 }).where('id', '=', id).execute());
    mustOk(await reportStatus(world.ctx, holder, { text: 'hello' }));
    expect((await world.row(id)).state).toBe('RUNNING');
  });

  it('refuses a message of an older generation and of an ended session, with an entry in the log (S-11, decision 1)', async () => {
    const world = await setup();
    const holder = await world.running();
    const old = await reportStatus(world.ctx, { ...holder, generation: 7 }, { text: 'x' });
    expect(old).toMatchObject({ ok: false, refusal: { code: 'generation_replaced' } });
    await world.must('stop', { workKey: 'PD-1' });
    const late = await reportStatus(world.ctx, holder, { text: 'x' });
    expect(late).toMatchObject({ ok: false, refusal: { code: 'session_ended' } });
    expect((await world.events('message.rejected')).map(({ facts }) => facts.reason)).toEqual([
      'generation_replaced',
      'session_ended',
    ]);
  });

  it('a completion ends a RUNNING session; ESCALATED it is held until the last answer has arrived (S-44)', async () => {
    const world = await setup();
    const holder = await world.running();
    const question = await world.ask(holder, 'q?');
    const held = mustOk(await world.store.tx((tx) => markDone(tx, world.ctx, holder)));
    expect(held).toMatchObject({ done: false, state: 'ESCALATED' });
    mustOk(await world.store.tx((tx) => markDone(tx, world.ctx, holder)));
    expect(await world.events('session.done-held')).toHaveLength(1);
    await world.must('respond', { workKey: 'PD-1', text: 'yes' });
    expect((await world.row(holder.sessionId)).state).toBe('ESCALATED');
    await world.deliver(question);
    expect((await world.row(holder.sessionId)).state).toBe('DONE');
    expect(world.calls.ended.map(({ how }) => how)).toEqual([{ state: 'DONE', reason: 'reported_done' }]);
  });

  it('a completion of a PAUSED session is held until it is resumed (S-44)', async () => {
    const world = await setup();
    const holder = await world.running();
    await world.must('pause', { workKey: 'PD-1' });
    expect(mustOk(await world.store.tx((tx) => markDone(tx, world.ctx, holder))).done).toBe(false);
    expect(await world.must('resume', { workKey: 'PD-1' })).toMatchObject({ state: 'DONE' });
  });

  it('a question in STARTING is first liveness: STARTING → RUNNING → ESCALATED (S-38)', async () => {
    const world = await setup();
    const other = await world.running('PD-2');
    const { session_id: id } = await world.must('start', { workKey: 'PD-1' });
    await world.ask({ ...other, sessionId: id as never }, 'early?');
    expect((await world.row(id)).state).toBe('ESCALATED');
    const moves = (await world.events('session.moved'))
      .slice(-2)
      .map(({ facts }) => `${String(facts.from)} ${String(facts.to)}`);
    expect(moves).toEqual(['STARTING RUNNING', 'RUNNING ESCALATED']);
  });

  it('waits only for questions of its own session, and learns that one was closed', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    const other = await world.running('PD-2');
    const asked = mustOk(await askHuman(world.ctx, holder, { text: 'q?', key: 'q1' }, { budgetMs: 0 }));
    expect(await waitAnswer(world.ctx, other, { id: asked.id }, { budgetMs: 0 })).toMatchObject({
      ok: false,
      refusal: { code: 'unknown_question' },
    });
    const waiting = waitAnswer(world.ctx, holder, { id: asked.id }, { budgetMs: 5_000 });
    await world.must('stop', { workKey: 'PD-1' });
    expect(await waiting).toMatchObject({
      ok: false,
      refusal: { code: 'question_closed', facts: { reason: 'session_ended' } },
    });
  });

  it('gives up waiting when the caller is gone', async () => {
    const world = await setup();
    const holder = await world.running();
    const gone = new AbortController();
    const waiting = askHuman(world.ctx, holder, { text: 'q?', key: 'q1' }, { budgetMs: 60_000, signal: gone.signal });
    gone.abort();
    expect(mustOk(await waiting)).toMatchObject({ status: 'pending' });
  });

  it('TC-NR-03: messages come at least once until acknowledged, to the addressed author only (S-3, decision 10)', async () => {
    const world = await setup();
    const a = await world.running('PD-1');
    const b = await world.running('PD-2');
    const c = await world.running('PD-3');
    const peers = mustOk(await listPeersFor(world.ctx, a));
    expect(peers.map((peer) => peer.work_key)).toEqual(['PD-2', 'PD-3']);
    const to = peers[0]?.peer_id;
    mustOk(await sendMessage(world.ctx, a, { to, text: 'the interface has changed', key: 'm1' }));
    const first = mustOk(await checkMessages(world.ctx, b));
    expect(first).toMatchObject([{ type: 'TEXT', payload: { text: 'the interface has changed' } }]);
    expect(mustOk(await checkMessages(world.ctx, b))).toEqual(first);
    expect(mustOk(await checkMessages(world.ctx, b, { ack: first.map((each) => each.id) }))).toEqual([]);
    expect(mustOk(await checkMessages(world.ctx, c))).toEqual([]);
    expect(JSON.stringify(await world.events())).not.toContain('interface');
  });

  it('reviewers neither message nor are messaged (R-36)', async () => {
    const world = await setup();
    const author = await world.running('PD-1');
    const reviewer = await world.running('pr-1/r1', 'reviewer');
    const peers = await listPeers(world.store.read);
    const reviewerPeer = peers.find((peer) => peer.role === 'reviewer')?.peer_id;
    const authorPeer = peers.find((peer) => peer.role === 'author')?.peer_id;
    for (const refused of [
      await listPeersFor(world.ctx, reviewer),
      await checkMessages(world.ctx, reviewer),
      await sendMessage(world.ctx, reviewer, { to: authorPeer, text: 'hi', key: 'm1' }),
      await askHuman(world.ctx, reviewer, { text: 'may I?', key: 'k' }),
    ])
      expect(refused).toMatchObject({ ok: false, refusal: { kind: 'not-permitted' } });
    expect(await sendMessage(world.ctx, author, { to: reviewerPeer, text: 'hi', key: 'm2' })).toMatchObject({
      ok: false,
    });
  });

  it('a message is fenced by the generation it was sent to (decision 10)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    const peer = (await world.row(holder.sessionId)).endpoint_id;
    mustOk(await world.broker.sendMessage(peer, 'DECISION', { capability: 'c', verdict: 'approved' }));
    await world.store.tx((tx) =>
      tx.db.updateTable('session').set({ generation: 2 }).where('id', '=', holder.sessionId).execute(),
    );
    expect(mustOk(await world.broker.getMessages(peer))).toEqual([]);
    expect(await world.broker.sendMessage('nobody', 'STOP', {})).toMatchObject({
      ok: false,
      refusal: { code: 'unknown_peer' },
    });
  });

  it('status says what was asserted and what is inferred, and on whom each session waits (decision 12)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    const asked = await world.ask(holder, 'q?');
    await world.store.tx((tx) =>
      tx.db.updateTable('session').set({ unresponsive: 1, turn_open: 1 }).where('id', '=', holder.sessionId).execute(),
    );
    const [view] = await readStatus(world.store.read, { workKey: 'PD-1' });
    expect(view).toMatchObject({
      state: 'ESCALATED',
      waiting_for: 'human',
      process: { value: 'live', basis: 'inferred' },
      working: { value: true, basis: 'inferred' },
      waiting_approval: { value: false, basis: 'asserted' },
      open_escalations: [{ escalation_id: asked, text: 'q?', status: 'OPEN' }],
    });
    await world.must('stop', { workKey: 'PD-1' });
    expect(await readStatus(world.store.read)).toEqual([]);
    expect(await readStatus(world.store.read, { includeEnded: true })).toMatchObject([
      { state: 'ABORTED', waiting_for: null },
    ]);
  });

  it('a message that is sent again under its key is stored once; an inbox takes 100 unread messages and no more (decision 10)', async () => {
    const world = await setup();
    const a = await world.running('PD-1');
    const b = await world.running('PD-2');
    const to = (await world.row(b.sessionId)).endpoint_id;
    const first = mustOk(await sendMessage(world.ctx, a, { to, text: 'once', key: 'm' }));
    expect(mustOk(await sendMessage(world.ctx, a, { to, text: 'once', key: 'm' }))).toEqual(first);
    expect(await sendMessage(world.ctx, a, { to, text: 'other words', key: 'm' })).toMatchObject({ ok: false });
    for (let n = 1; n < 100; n += 1) mustOk(await sendMessage(world.ctx, a, { to, text: 'more', key: `m${n}` }));
    expect(await sendMessage(world.ctx, a, { to, text: 'one too many', key: 'last' })).toMatchObject({
      ok: false,
      refusal: { kind: 'quota', code: 'inbox_full' },
    });
    mustOk(await checkMessages(world.ctx, b, { ack: [first.id] }));
    mustOk(await sendMessage(world.ctx, a, { to, text: 'room again', key: 'last' }));
    expect(mustOk(await checkMessages(world.ctx, b))).toHaveLength(100);
  });
});
