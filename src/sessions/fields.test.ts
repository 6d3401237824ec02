import { expect, it } from 'vitest';

import { eachStore } from '../store/testing.ts';
import { askHuman } from './agent-side/ask-human.ts';
import { setSummary } from './agent-side/report.ts';
import { fields } from './fields.ts';
import type { TokenHolder } from './session-store.ts';
import { sessionWorld } from './testing.ts';

type World = ReturnType<typeof sessionWorld>;

it('accepts a complete set of valid fields (TC-NOM-10, S-57, S-59)', () => {
  for (const key of ['PD-1', 'PD-9999', 'shop/12', 'shop-backend/T_7', 'pr-12/r3', 'qa-checkout/r1'])
    expect(fields.workKey(key), key).toMatchObject({ ok: true });
  expect(fields.timestamp('2026-02-28T23:59:59.123Z').ok).toBe(true);
  expect(fields.escalationText('Which rounding? 👨‍👩‍👧\nHalf up\tor even').ok).toBe(true);
  expect(fields.peerId('pending-PD-1').ok).toBe(true);
  expect(fields.messageType('GATE_RESULT').ok).toBe(true);
  expect(fields.summaryText('').ok).toBe(true);
  expect(fields.idempotencyKey('K1').ok).toBe(true);
  expect(fields.state('PAUSED').ok).toBe(true);
  expect(fields.escalationId('esc-1').ok).toBe(true);
});

it('takes the keys of other trackers where the setting names them, and never more digits than it says (S-73)', () => {
  const trackers = 'PD-9999,SHOP-999999';
  for (const key of ['PD-1', 'SHOP-123456', 'shop/12'])
    expect(fields.workKey(key, trackers), key).toMatchObject({ ok: true });
  for (const key of ['PD-12345', 'SHOP-1234567', 'OTHER-1', 'SHOP-', 'shop-1', 'SHOP-1\n', 'PD-1;rm'])
    expect(fields.workKey(key, trackers), key).toMatchObject({ refusal: { code: expect.any(String) } });
  expect(fields.workKey('SHOP-1')).toMatchObject({ ok: false });
});

eachStore((_dialect, open) => {
  it('starts a session under such a key, and stops it by it (S-73)', async () => {
    const world = sessionWorld((await open()).store, { settings: { workKeys: 'SHOP-999999' } });
    await world.must('start', { workKey: 'SHOP-4711', projectCode: 'backend' });
    expect(await world.must('stop', { workKey: 'SHOP-4711' })).toMatchObject({ state: 'ABORTED' });
    expect(await world.run('start', { workKey: 'PD-1', projectCode: 'backend' })).toMatchObject({ ok: false });
  });
});

it.each([
  ['TC-NEG-01', 'work_key', () => fields.workKey('PD-')],
  ['TC-NEG-02', 'work_key', () => fields.workKey('PD-12345')],
  ['TC-NEG-03', 'project_code', () => fields.projectCode('frontend', (code) => code === 'backend')],
  ['TC-NEG-04', 'message_type', () => fields.messageType('SHUTDOWN')],
  ['TC-NEG-05', 'peer_id', () => fields.peerId('')],
  ['TC-NEG-06', 'peer_id', () => fields.peerId('rb-PD-42\u0007')],
  ['TC-NEG-07', 'timestamp', () => fields.timestamp('2026-01-31T12:00:00+02:00')],
  ['TC-NEG-08', 'escalation_text', () => fields.escalationText('bell \u0007')],
  ['TC-NEG-09', 'summary_text', () => fields.summaryText('x'.repeat(501))],
  ['TC-NEG-10', 'idempotency_key', () => fields.idempotencyKey('not a key')],
] as const)('%s: refuses an invalid %s and names the field', (_name, field, check) => {
  expect(check()).toMatchObject({
    ok: false,
    refusal: { kind: 'invalid', code: `${field}_invalid`, facts: { field } },
  });
});

it.each(['2026-01-31T12:00:00+00:00', '2026-01-31T12:00:00-05:00', '2026-02-30T12:00:00Z', '2026-1-1T00:00:00Z', 7])(
  'refuses the time %s (S-58)',
  (time) => expect(fields.timestamp(time).ok).toBe(false),
);

it('refuses direction changes and private characters in texts, every invisible one in ids (S-75)', () => {
  for (const text of ['a\u202Eb', 'a\u2066b', 'a\uE000b', 'a\uD800', ''])
    expect(fields.answerText(text).ok).toBe(false);
  expect(fields.answerText('a\u200Db').ok).toBe(true);
  expect(fields.peerId('a\u200Db').ok).toBe(false);
  expect(fields.answerText('x'.repeat(4000)).ok).toBe(true);
  expect(fields.answerText('x'.repeat(4001)).ok).toBe(false);
});

it('never repeats a text in its refusal (S-62)', () => {
  const refused = fields.answerText(`secret sentence \u0007`);
  expect(JSON.stringify(refused)).not.toContain('secret sentence');
});

eachStore((_dialect, open) => {
  it.each([
    ['TC-NEG-01', { workKey: 'PD-' }],
    ['TC-NEG-02', { workKey: 'PD-12345' }],
    ['TC-NEG-03', { workKey: 'PD-1', projectCode: 'frontend' }],
    ['TC-NEG-10', { workKey: 'PD-1', key: 'not a key' }],
    ['TC-NEG-10', { workKey: 'PD-1', key: undefined }],
  ])('%s: start with %j leaves a log entry and nothing else', async (_name, args) => {
    const { store } = await open();
    const world = sessionWorld(store);
    const answer = await world.run('start', args);
    expect(answer).toMatchObject({ ok: false, refusal: { kind: 'invalid' } });
    expect(await store.read.selectFrom('session').selectAll().execute()).toEqual([]);
    expect(await store.read.selectFrom('idempotency_key').selectAll().execute()).toEqual([]);
    const log = await world.events();
    expect(log).toHaveLength(1);
    expect(log[0]).toMatchObject({
      kind: 'command.rejected',
      facts: { peer_id: 'operator', message_type: 'START' },
    });
  });

  it.each([
    [
      'TC-NEG-08',
      'ESCALADE',
      (world: World, holder: TokenHolder) =>
        askHuman(world.ctx, holder, { text: 'bell \u0007', key: 'K1' }, { budgetMs: 0 }),
    ],
    [
      'TC-NEG-09',
      'STATUS_UPDATE',
      (world: World, holder: TokenHolder) => setSummary(world.ctx, holder, { summary: 'x'.repeat(501) }),
    ],
  ] as const)(
    '%s: what an agent says with an invalid field leaves a log entry (%s) and nothing else',
    async (_name, messageType, say) => {
      const { store } = await open();
      const world = sessionWorld(store);
      const holder = await world.running();
      const before = { row: await world.row(holder.sessionId), log: (await world.events()).length };
      expect(await say(world, holder)).toMatchObject({ ok: false, refusal: { kind: 'invalid' } });
      expect(await world.row(holder.sessionId)).toEqual(before.row);
      expect(await store.read.selectFrom('escalation').selectAll().execute()).toEqual([]);
      expect(await store.read.selectFrom('decision_request').selectAll().execute()).toEqual([]);
      const log = (await world.events()).slice(before.log);
      expect(log).toMatchObject([
        { kind: 'message.rejected', facts: { peer_id: holder.sessionId, message_type: messageType, story_id: 'PD-1' } },
      ]);
      expect(JSON.stringify(log)).not.toMatch(/bell|xxx/);
    },
  );
});
