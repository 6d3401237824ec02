import { readdirSync, readFileSync } from 'node:fs';
import { rejectionLine } from '../rejection-log.ts';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { eachStore } from '../../store/testing.ts';
import { sessionWorld, type WorldOptions } from '../testing.ts';

eachStore((_dialect, open) => {
  async function setup(options: WorldOptions = {}) {
    const { store, clock } = await open();
    return { ...sessionWorld(store, options), clock };
  }

  it('TC-NOM-01: status is one consolidated list and the log shows that the broker was consulted (S-14, S-65)', async () => {
    const world = await setup();
    await world.running('PD-1');
    await world.running('PD-2');
    const answer = await world.run('status');
    expect(answer).toMatchObject({
      ok: true,
      value: {
        kind: 'status',
        broker: 'UP',
        unknown_peers: [],
        sessions: [{ work_key: 'PD-1', state: 'RUNNING' }, { work_key: 'PD-2' }],
      },
    });
    const log = await world.events('command.accepted');
    expect(log.at(-1)?.facts).toEqual({ message_type: 'STATUS', broker: 'UP', peers: 2 });
  });

  it('TC-NOM-02, TC-ERR-01: refuses the sixth start, the count stays 5, the rejection is logged (S-19)', async () => {
    const world = await setup();
    for (const n of [1, 2, 3, 4, 5]) await world.must('start', { workKey: `PD-${n}` });
    const sixth = await world.run('start', { workKey: 'PD-299' });
    expect(sixth).toMatchObject({
      ok: false,
      refusal: { kind: 'quota', message: 'Rejected: quota reached (5/5 active sessions)' },
    });
    expect(await world.store.read.selectFrom('session').selectAll().execute()).toHaveLength(5);
    expect((await world.events('command.rejected'))[0]?.facts).toEqual({
      peer_id: 'operator',
      message_type: 'START',
      reason: 'quota_exceeded (5/5)',
      story_id: 'PD-299',
    });
  });

  it('counts STARTING, PAUSED and ESCALATED against the quota, frees the slot of an ended one, and gives reviewers their own', async () => {
    const world = await setup({ settings: { maxActive: 2, maxReviewers: 1 } });
    await world.running('PD-1');
    await world.must('pause', { workKey: 'PD-1' });
    await world.must('start', { workKey: 'PD-2' });
    expect((await world.run('start', { workKey: 'PD-3' })).ok).toBe(false);
    const reviewer = { agent: 'mitnick', role: 'reviewer' as const };
    await world.must('start', { workKey: 'pr-1/r1', start: reviewer });
    expect((await world.run('start', { workKey: 'pr-2/r1', start: reviewer })).ok).toBe(false);
    await world.must('stop', { workKey: 'PD-1' });
    await world.must('start', { workKey: 'PD-3' });
  });

  it('TC-INV-03: with a full quota and an invalid payload the first rejection is the quota one (S-17)', async () => {
    const world = await setup({ settings: { maxActive: 1 } });
    await world.must('start', { workKey: 'PD-1' });
    for (const args of [{ workKey: 'nonsense' }, { workKey: 'PD-2', key: '' }, { workKey: 'PD-1' }])
      expect(await world.run('start', args)).toMatchObject({ ok: false, refusal: { code: 'quota_exceeded' } });
  });

  it('names the first session when a start is repeated at a full quota (S-24)', async () => {
    const world = await setup({ settings: { maxActive: 1 } });
    const first = await world.must('start', { workKey: 'PD-1', key: 'K1' });
    expect(await world.run('start', { workKey: 'PD-1', key: 'K1' })).toMatchObject({
      ok: false,
      refusal: { code: 'quota_exceeded', facts: { replay_of: first.session_id } },
    });
    expect(await world.run('start', { workKey: 'PD-9', key: 'K1' })).toMatchObject({
      ok: false,
      refusal: { code: 'quota_exceeded', facts: { active: 1, max: 1, quota: 'author' } },
    });
  });

  it('story 3: at a full fleet a start whose reply was lost makes no second session but is told of the first, and a sixth waits for a slot (S-17, S-19, S-24)', async () => {
    const world = await setup();
    for (const n of [1, 2, 3, 4]) await world.must('start', { workKey: `PD-${n}` });
    const fifth = await world.must('start', { workKey: 'PD-5', key: 'K5' });
    const sessions = () => world.store.read.selectFrom('session').selectAll().orderBy('created_at').execute();
    const before = await sessions();
    expect(await world.run('start', { workKey: 'PD-5', key: 'K5' })).toMatchObject({
      ok: false,
      refusal: { code: 'quota_exceeded', facts: { replay_of: fifth.session_id } },
    });
    const sixth = await world.run('start', { workKey: 'PD-6', key: 'K6' });
    expect(sixth).toMatchObject({ ok: false, refusal: { code: 'quota_exceeded' } });
    expect(sixth.ok || sixth.refusal.facts).not.toHaveProperty('replay_of');
    expect(await sessions()).toEqual(before);
    await world.must('stop', { workKey: 'PD-2' });
    // A refusal left no record under its key, so the same key goes on (S-22); the fifth is still the first one.
    await world.must('start', { workKey: 'PD-6', key: 'K6' });
    await world.must('stop', { workKey: 'PD-1' });
    expect(await world.must('start', { workKey: 'PD-5', key: 'K5' })).toEqual(fifth);
    const states = (await sessions()).map(({ work_key, state }) => `${work_key} ${state}`);
    expect(states.toSorted()).toEqual([
      'PD-1 ABORTED',
      'PD-2 ABORTED',
      'PD-3 STARTING',
      'PD-4 STARTING',
      'PD-5 STARTING',
      'PD-6 STARTING',
    ]);
  });

  it('TC-NOM-08, TC-ERR-08: a repeated start gives the same result, no second session, and a replay in the log (S-20)', async () => {
    const world = await setup();
    const first = await world.run('start', { workKey: 'PD-1', key: 'K1' });
    const second = await world.run('start', { workKey: 'PD-1', key: 'K1' });
    expect(first).toMatchObject({ ok: true, value: { result: { replayed: false } } });
    expect(second).toMatchObject({ ok: true, value: { result: { replayed: true } } });
    const value = (answer: typeof first) =>
      answer.ok && answer.value.kind === 'done' ? answer.value.result.value : undefined;
    expect(value(second)).toEqual(value(first));
    expect(await world.store.read.selectFrom('session').selectAll().execute()).toHaveLength(1);
    expect((await world.events('command.replayed'))[0]?.facts).toMatchObject({ key: 'K1', message_type: 'START' });
  });

  it('TC-ERR-11 (ERR-09): refuses a key that was used with other arguments, without effect', async () => {
    const world = await setup();
    await world.must('start', { workKey: 'PD-1', key: 'K1' });
    expect(await world.run('start', { workKey: 'PD-2', key: 'K1' })).toMatchObject({
      ok: false,
      refusal: { kind: 'idempotency-conflict', message: 'Rejected: idempotency conflict (key K1, different payload)' },
    });
    expect(await world.store.read.selectFrom('session').selectAll().execute()).toHaveLength(1);
  });

  it('forgets a key after its time (S-25)', async () => {
    const world = await setup();
    await world.must('start', { workKey: 'PD-1', key: 'K1' });
    world.clock.advance(24 * 3_600_000);
    await world.must('start', { workKey: 'PD-2', key: 'K1' });
  });

  it('TC-ERR-02: refuses a second session of an active work key and names its state (S-5, field case 22)', async () => {
    const world = await setup();
    await world.running('PD-1');
    expect(await world.run('start', { workKey: 'PD-1' })).toMatchObject({
      ok: false,
      refusal: { kind: 'duplicate', message: 'Rejected: PD-1 already active (state: RUNNING)' },
    });
    await world.must('stop', { workKey: 'PD-1' });
    await world.must('start', { workKey: 'PD-1' });
    expect(await world.store.read.selectFrom('session').selectAll().execute()).toHaveLength(2);
  });

  it('TC-ERR-03: a rejection is logged with peer, command and reason; untrusted values are escaped and cut (S-56, S7.4)', async () => {
    const world = await setup();
    await world.run('start', { workKey: `PD-\u0007${'x'.repeat(400)}` });
    const facts = (await world.events('command.rejected'))[0]?.facts ?? {};
    expect(facts).toMatchObject({ peer_id: 'operator', message_type: 'START', reason: 'work_key_invalid' });
    expect(String(facts.story_id)).toMatch(/^PD-\\u\{7\}x+…$/);
    expect(String(facts.story_id).length).toBeLessThan(210);
    const row = await world.store.read.selectFrom('event').selectAll().where('kind', '=', 'command.rejected').execute();
    expect(JSON.parse(JSON.stringify(rejectionLine(row[0]!)))).toEqual({
      timestamp: new Date(row[0]!.at).toISOString(),
      peer_id: 'operator',
      message_type: 'START',
      reason: 'work_key_invalid',
      story_id: facts.story_id,
      event: 'COMMAND_REJECTED',
    });
  });

  it('TC-ERR-04: refuses to respond where nothing is asked; nothing changes', async () => {
    const world = await setup();
    await world.running('PD-1');
    const before = await world.store.read.selectFrom('session').selectAll().execute();
    for (const workKey of ['PD-1', 'PD-77'])
      expect(await world.run('respond', { workKey, text: 'yes' })).toMatchObject({
        ok: false,
        refusal: { kind: 'wrong-state', message: `Rejected: no active escalation for ${workKey}` },
      });
    expect(await world.store.read.selectFrom('session').selectAll().execute()).toEqual(before);
    expect(await world.store.read.selectFrom('escalation').selectAll().execute()).toEqual([]);
    expect((await world.events('command.rejected')).map(({ facts }) => facts.story_id)).toEqual(['PD-1', 'PD-77']);
  });

  it('TC-ERR-05, TC-NOM-05: refuses an eighth command with zero side effect and an audit entry (S-14, decision 11)', async () => {
    const world = await setup();
    await world.running('PD-1');
    const before = await world.store.read.selectFrom('session').selectAll().execute();
    for (const name of ['deploy', 'tell', 'START', '__proto__', ''])
      expect(await world.run(name, { workKey: 'PD-1' })).toMatchObject({
        ok: false,
        refusal: {
          code: 'unknown_command',
          message: 'Unknown command. Available: start, status, escalations, respond, pause, resume, stop',
        },
      });
    expect(await world.store.read.selectFrom('session').selectAll().execute()).toEqual(before);
    expect(await world.events('command.rejected')).toHaveLength(5);
    expect(await world.run('escalade')).toMatchObject({ ok: true, value: { kind: 'escalations', escalations: [] } });
  });

  it('TC-NOM-03: a question holds the session; after the answer has arrived it is RUNNING again (S-6, S-31, S-33, S-34)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    const question = await world.ask(holder, 'Which rounding?');
    expect((await world.row(holder.sessionId)).state).toBe('ESCALATED');
    const answered = await world.must('respond', { workKey: 'PD-1', text: 'half up' });
    expect(answered).toMatchObject({ escalation_id: question, open_escalations: 0, state: 'ESCALATED' });
    expect((await world.row(holder.sessionId)).state).toBe('ESCALATED');
    await world.deliver(question);
    await world.deliver(question);
    expect((await world.row(holder.sessionId)).state).toBe('RUNNING');
    expect((await world.events('escalation.delivered')).length).toBe(1);
    const decision = await world.store.read.selectFrom('decision_request').selectAll().executeTakeFirstOrThrow();
    expect(decision).toMatchObject({
      kind: 'escalation_answer',
      state: 'settled',
      outcome: 'answered',
      settled_by: 'op',
    });
  });

  it('TC-NOM-13: three questions are answered in the order in which they came; only the last one frees the session (S-32)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    const asked = [
      await world.ask(holder, 'first?'),
      await world.ask(holder, 'second?'),
      await world.ask(holder, 'third?'),
    ];
    const notOldest = await world.run('respond', { workKey: 'PD-1', text: 'x', escalationId: asked[2] ?? '' });
    expect(notOldest).toMatchObject({
      ok: false,
      refusal: { code: 'not_oldest_escalation', facts: { oldest: asked[0] } },
    });
    for (const [index, id] of asked.entries()) {
      const answered = await world.must('respond', { workKey: 'PD-1', text: `answer ${index}` });
      expect(answered).toMatchObject({ escalation_id: id, open_escalations: 2 - index });
      await world.deliver(id);
      expect((await world.row(holder.sessionId)).state).toBe(index === 2 ? 'RUNNING' : 'ESCALATED');
    }
  });

  it('a repeated answer is given once, under the same key with other words it is a conflict (S-18, S-21, field case 75)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    await world.ask(holder, 'first?');
    await world.ask(holder, 'second?');
    await world.must('respond', { workKey: 'PD-1', text: 'one', key: 'A' });
    await world.must('respond', { workKey: 'PD-1', text: 'one', key: 'A' });
    expect(await world.run('respond', { workKey: 'PD-1', text: 'two', key: 'A' })).toMatchObject({ ok: false });
    const rows = await world.store.read.selectFrom('escalation').select('status').orderBy('ord').execute();
    expect(rows.map((row) => row.status)).toEqual(['ANSWERED', 'OPEN']);
  });

  it('never puts the text of a question or an answer into an event (S-62, S-64)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    await world.ask(holder, 'the planted question sentence');
    await world.must('respond', { workKey: 'PD-1', text: 'the planted answer sentence' });
    expect(JSON.stringify(await world.events())).not.toMatch(/planted/);
  });

  it('TC-NOM-12: pauses and resumes, each with its key and its message; repeated they do nothing (S-39)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    await world.must('pause', { workKey: 'PD-1', reason: 'lunch', key: 'P' });
    await world.must('pause', { workKey: 'PD-1', reason: 'lunch', key: 'P' });
    expect((await world.row(holder.sessionId)).state).toBe('PAUSED');
    expect(await world.run('pause', { workKey: 'PD-1' })).toMatchObject({
      ok: false,
      refusal: { kind: 'wrong-state', message: 'Rejected: PD-1 is PAUSED; pause needs RUNNING' },
    });
    await world.must('resume', { workKey: 'PD-1', key: 'R' });
    expect((await world.row(holder.sessionId)).state).toBe('RUNNING');
    const messages = await world.store.read.selectFrom('message').select('type').orderBy('ord').execute();
    expect(messages.map((message) => message.type)).toEqual(['PAUSE', 'RESUME']);
    expect(await world.events('command.replayed')).toHaveLength(1);
  });

  it('refuses pause and resume in ESCALATED (S-12)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    await world.ask(holder, 'q?');
    for (const name of ['pause', 'resume'])
      expect(await world.run(name, { workKey: 'PD-1' })).toMatchObject({ ok: false, refusal: { kind: 'wrong-state' } });
  });

  it('queues a question of a paused session and escalates on resume, with both moves recorded (S-38)', async () => {
    const world = await setup();
    const holder = await world.running('PD-1');
    await world.must('pause', { workKey: 'PD-1' });
    await world.ask(holder, 'late?');
    expect((await world.row(holder.sessionId)).state).toBe('PAUSED');
    const resumed = await world.must('resume', { workKey: 'PD-1' });
    expect(resumed.state).toBe('ESCALATED');
    const moves = (await world.events('session.moved')).map(({ facts }) => `${String(facts.from)} ${String(facts.to)}`);
    expect(moves.slice(-2)).toEqual(['PAUSED RUNNING', 'RUNNING ESCALATED']);
  });

  it('stops from every active state, closes questions as session_ended and tells the port inside the transaction (S-40, S-41)', async () => {
    const world = await setup();
    await world.must('start', { workKey: 'PD-1' });
    await world.running('PD-2');
    const asking = await world.running('PD-3');
    await world.ask(asking, 'q?');
    await world.running('PD-4');
    await world.must('pause', { workKey: 'PD-4' });
    for (const workKey of ['PD-1', 'PD-2', 'PD-3', 'PD-4'])
      expect(await world.must('stop', { workKey, reason: 'enough' })).toMatchObject({ state: 'ABORTED' });
    expect(world.calls.ended.map(({ how }) => how)).toEqual(
      [1, 2, 3, 4].map(() => ({ state: 'ABORTED', reason: 'operator' })),
    );
    const question = await world.store.read.selectFrom('escalation').selectAll().executeTakeFirstOrThrow();
    expect(question).toMatchObject({ status: 'CLOSED', closure_reason: 'session_ended' });
    const decision = await world.store.read.selectFrom('decision_request').selectAll().executeTakeFirstOrThrow();
    expect(decision.state).toBe('void');
    expect(await world.run('stop', { workKey: 'PD-3' })).toMatchObject({ ok: false, refusal: { kind: 'wrong-state' } });
    expect(await world.run('stop', { workKey: 'PD-99' })).toMatchObject({ ok: false, refusal: { kind: 'not-found' } });
  });

  it('TC-NOM-09, TC-NR-03: what happens to one session leaves another unchanged', async () => {
    const world = await setup();
    const a = await world.running('PD-1');
    const b = await world.running('PD-2');
    const before = await world.row(b.sessionId);
    await world.ask(a, 'q?');
    await world.must('respond', { workKey: 'PD-1', text: 'yes' });
    await world.must('stop', { workKey: 'PD-1' });
    expect(await world.row(b.sessionId)).toEqual(before);
    expect((await world.broker.getMessages(before.endpoint_id)).ok).toBe(true);
    expect(await world.broker.getMessages(before.endpoint_id)).toEqual({ ok: true, value: [] });
  });
});

it('TC-NR-02: the command module reaches no process, network or repository (S-2)', async () => {
  const files = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'));
  expect(files.length).toBeGreaterThanOrEqual(6);
  for (const file of files) {
    const source = readFileSync(`${import.meta.dirname}/${file}`, 'utf8');
    expect(source, file).not.toMatch(
      /node:(?!assert)|fetch\(|\.\.\/(host|supervisor)\/|from '\.\.\/drivers\/(?!index\.ts)/,
    );
  }
});

it('TC-NR-02: nothing of supervision but the host of processes starts a program, and nothing of it reaches a network (S-2)', () => {
  const root = join(import.meta.dirname, '..');
  const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter(
    (name) => name.endsWith('.ts') && !/test(ing)?\.ts$/.test(name),
  );
  expect(files.length).toBeGreaterThan(80);
  for (const file of files) {
    const source = readFileSync(join(root, file), 'utf8');
    expect(source, file).not.toMatch(/node:(net|http|https|http2|tls|dgram|dns)|\bfetch\(/);
    if (!file.startsWith('host/')) expect(source, file).not.toMatch(/node:(child_process|cluster)/);
  }
});
