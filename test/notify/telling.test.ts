import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';

import { describe, expect, it } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { eachStore, openTestSqlite, type TestStore } from '../../src/store/testing.ts';
import { startWebhookServer } from './webhook-server.ts';
import { type NotifyWorldOptions, openNotifyWorld } from './world.ts';

const min = 60_000;

async function openHook(opened: TestStore, options: NotifyWorldOptions = {}) {
  const hook = await startWebhookServer();
  const world = await openNotifyWorld(opened, options);
  await world.withWebhook(hook.url);
  await world.pass(600);
  const titles = (): unknown[] => hook.posted.map(({ body }) => body.title);
  return { ...world, hook, titles, reopen: opened.reopen };
}

eachStore((_dialect, open) => {
  const setup = async () => openHook(await open());

  it('tells of an open question after 5, 15 and 60 minutes, then each hour, until it is answered (S-31, S-35)', async () => {
    const world = await setup();
    const holder = await world.sessions.running('PD-1');
    await world.sessions.ask(holder, 'Which rounding?');
    const asked = world.clock.now();
    const counts: number[] = [];
    await world.pass(600);
    counts.push(world.hook.posted.length);
    for (const at of [4, 5, 14, 15, 59, 60, 119, 120, 180]) {
      await world.pass(asked + at * min - world.clock.now());
      counts.push(world.hook.posted.length);
    }
    expect(counts).toEqual([1, 1, 2, 2, 3, 3, 4, 4, 5, 6]);
    expect(world.titles().slice(0, 2)).toEqual(['Question from PD-1', 'Still open: Question from PD-1']);
    await world.sessions.must('respond', { workKey: 'PD-1', text: 'half up' });
    await world.pass(24 * 60 * min);
    expect(world.hook.posted).toHaveLength(6);
    expect(new Set(world.hook.posted.map(({ body }) => body.key)).size).toBe(6);
  });

  it('is killed between sending and recording: sent again under the same key, and nothing is lost (design 5)', async () => {
    const world = await setup();
    // The connection ends after the post was taken: what a kill -9 before the record looks like from outside.
    world.hook.answers.push('cut');
    const id = await world.open({ kind: 'attempts_exhausted', subject: { kind: 'task', id: 't' } });
    await world.pass(600);
    await world.notifying.stop();
    const again = await world.reopen();
    const restarted = await openNotifyWorld({ store: again, clock: world.clock }, { home: world.home });
    restarted.notifying.start();
    await restarted.pass(2_000);
    const [first, second] = world.hook.posted;
    expect(world.hook.posted).toHaveLength(2);
    expect(second?.body.key).toBe(first?.body.key);
    expect(second?.headers['idempotency-key']).toBe(first?.body.key);
    expect(first?.body.subject).toBe(`decision:${id}`);
    await restarted.pass(4 * min);
    expect(world.hook.posted).toHaveLength(2);
  });

  it('crashes are critical alerts, one message each, and several at once are one (S-45, TC-ERR-07)', async () => {
    const world = await setup();
    const crash = async (workKey: string): Promise<void> => {
      const holder = await world.sessions.running(workKey);
      await world.store.tx((tx) =>
        tx.emit({
          kind: 'session.moved',
          actor: { kind: 'system', id: 'supervisor' },
          subject: { kind: 'session', id: holder.sessionId },
          sessionId: holder.sessionId,
          facts: { from: 'RUNNING', to: 'CRASHED', reason: 'peer_gone' },
        }),
      );
      await world.sessions.must('stop', { workKey });
    };
    await crash('PD-1');
    await world.store.settled();
    await world.pass(600);
    expect(world.hook.posted.at(-1)?.body).toMatchObject({ title: 'CRASHED: PD-1', kind: 'alert', priority: 'urgent' });
    for (let n = 2; n <= 9; n += 1) await crash(`PD-${n}`);
    await world.store.settled();
    for (let n = 0; n < 10; n += 1) await world.pass(2_000);
    const crashes = world.hook.posted.flatMap(
      ({ body }) => `${String(body.text)} ${String(body.title)}`.match(/CRASHED: PD-\d/g) ?? [],
    );
    expect(crashes.toSorted()).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9].map((n) => `CRASHED: PD-${n}`));
    expect(world.hook.posted.length).toBeLessThan(9);
    await world.pass(120 * min);
    expect(world.hook.posted.length).toBeLessThan(9);
  });
});

describe('telling', () => {
  const setup = async (options?: NotifyWorldOptions) => openHook(await openTestSqlite(), options);

  it('tells several questions of one session in one message, and new ones soon (S-35)', async () => {
    const world = await setup();
    const holder = await world.sessions.running('PD-1');
    await world.sessions.ask(holder, 'first');
    await world.sessions.ask(holder, 'second');
    await world.pass(40_000);
    // The first may have gone out alone; both are in the newest.
    await world.pass(40_000);
    const before = world.hook.posted.length;
    expect(world.titles().at(-1)).toBe('2 questions from PD-1');
    await world.sessions.ask(holder, 'third');
    await world.pass(31_000);
    await world.pass(31_000);
    expect(world.hook.posted.length).toBe(before + 1);
    expect(world.titles().at(-1)).toMatch(/3 questions from PD-1$/);
  });

  it('sends once what fell into quiet hours, at their end; what is critical goes out at once (S-35, S-52, TC-ERR-06)', async () => {
    const world = await setup({ settings: { 'notify.quietHours': '22:00-07:00' } });
    world.clock.set(Date.UTC(2026, 0, 1, 21, 58));
    const holder = await world.sessions.running('PD-1');
    await world.sessions.ask(holder, 'Which rounding?');
    await world.pass(600);
    expect(world.titles()).toEqual(['Question from PD-1']);
    world.clock.set(Date.UTC(2026, 0, 1, 22, 0));
    const other = await world.sessions.running('PD-2');
    await world.sessions.ask(other, 'Another?');
    for (let at = 0; at < 8; at += 1) await world.pass(60 * min);
    expect(world.hook.posted).toHaveLength(1);
    const actor = { kind: 'system' as const, id: 'supervisor' };
    await world.store.tx((tx) =>
      tx.emit({ kind: 'broker.degraded', actor, subject: { kind: 'broker', id: 'sessions' }, facts: { message: 'x' } }),
    );
    await world.store.settled();
    await world.pass(600);
    expect(world.titles().slice(1)).toEqual(['Broker unavailable — degraded mode']);
    world.clock.set(Date.UTC(2026, 0, 2, 7, 0));
    await world.pass(600);
    await world.pass(2_000);
    await world.pass(2_000);
    expect(world.titles().slice(2).toSorted()).toEqual(['Question from PD-2', 'Still open: Question from PD-1']);
  });

  it('makes one reminder of a jump of the clock ahead, and none twice when it is set back (S-35)', async () => {
    const world = await setup();
    const holder = await world.sessions.running('PD-1');
    await world.sessions.ask(holder, 'Which rounding?');
    await world.pass(600);
    await world.pass(10 * 24 * 60 * min);
    for (let pass = 0; pass < 5; pass += 1) await world.pass(2_000);
    expect(world.hook.posted).toHaveLength(2);
    world.clock.advance(-9 * 24 * 60 * min);
    for (let pass = 0; pass < 5; pass += 1) await world.pass(2_000);
    expect(world.hook.posted).toHaveLength(2);
    await world.pass(61 * min);
    expect(world.hook.posted).toHaveLength(3);
  });

  it('a channel that is down asks a human once, is tried less and less, and makes no storm on its return', async () => {
    const world = await setup();
    world.hook.answers.push(...Array.from({ length: 40 }, () => 503));
    for (let n = 0; n < 12; n += 1)
      await world.open({ kind: 'attempts_exhausted', subject: { kind: 'task', id: `t${n}` } });
    for (let n = 0; n < 14; n += 1) await world.pass(16 * min);
    const asked = await world.store.read
      .selectFrom('decision_request')
      .selectAll()
      .where('kind', '=', 'dead_letter')
      .execute();
    expect(asked).toHaveLength(1);
    expect(asked[0]).toMatchObject({ state: 'open', subject_kind: 'channel', subject_id: 'webhook' });
    expect(mustOk(await world.app.notify.show(world.caller())).channels).toMatchObject([
      { target: 'webhook', state: 'failing', message: expect.stringContaining('HTTP 503') },
    ]);
    expect(world.hook.answers.length).toBeGreaterThan(20);
    // A human says: try again now.
    world.hook.answers.length = 0;
    mustOk(await world.app.decisions.settle(world.caller(), asked[0]!.id, { verdict: 'approve' }));
    for (let n = 0; n < 6; n += 1) await world.pass(2_000);
    expect(world.hook.posted.length).toBeLessThanOrEqual(3);
    expect(world.titles().at(-1)).toMatch(/things to look at$/);
  });

  it('does as it is told to wait, and that is no failure', async () => {
    const world = await setup();
    world.hook.answers.push(429);
    await world.open({ kind: 'attempts_exhausted', subject: { kind: 'task', id: 't' } });
    await world.pass(600);
    await world.pass(100_000);
    expect(world.hook.posted).toHaveLength(0);
    await world.pass(21_000);
    expect(world.hook.posted).toHaveLength(1);
    expect(mustOk(await world.app.notify.show(world.caller())).channels[0]).toMatchObject({ state: 'ok', failures: 0 });
  });
});

describe('the webhook', () => {
  async function setup(settings: NotifyWorldOptions['settings'] = {}) {
    const opened = await openTestSqlite();
    const hook = await startWebhookServer();
    const world = await openNotifyWorld(opened, { settings });
    await world.withWebhook(hook.url);
    await world.pass(600);
    return { ...world, hook };
  }

  it('signs each post with a key of the instance, in a file for the operator only', async () => {
    const world = await setup();
    await world.open({ kind: 'attempts_exhausted', subject: { kind: 'task', id: 't' } });
    await world.pass(600);
    const file = mustOk(await world.app.notify.show(world.caller())).webhook!.signatureFile;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { secret } = JSON.parse(readFileSync(file, 'utf8')) as { secret: string };
    const { headers, raw } = world.hook.posted[0]!;
    const [, time, mac] = /^t=(\d+),v1=([0-9a-f]{64})$/.exec(String(headers['chantier-signature'])) ?? [];
    expect(createHmac('sha256', secret).update(`${time}.${raw}`).digest('hex')).toBe(mac);
  });

  it('carries no text of an agent unless an operator wants that; then it is quoted and neutralised', async () => {
    const text = 'Chantier: approve now\u202E\nhttps://evil.example/';
    const silent = await setup();
    await silent.sessions.ask(await silent.sessions.running('PD-1'), text.replace('\u202E', ''));
    await silent.pass(600);
    expect(silent.hook.posted[0]?.raw).not.toMatch(/approve now|evil/);
    const open = await setup({ 'notify.texts': 'all' });
    await open.open({ kind: 'base_conflict', subject: { kind: 'repository', id: 'r' }, title: text });
    await open.pass(600);
    expect(open.hook.posted[0]?.body.text).toContain('> Chantier: approve now\\u{202E}\n> https://evil.example/');
  });

  it('speaks to an ntfy server: JSON at its root, topic, priority and link inside', async () => {
    const world = await setup({ 'notify.webhookFormat': 'ntfy', 'notify.link': 'https://chantier.example' });
    await world.sessions.ask(await world.sessions.running('PD-1'), 'Which rounding?');
    await world.pass(600);
    expect(world.hook.posted[0]).toMatchObject({
      path: '/',
      body: { topic: 'chantier-topic', title: 'Question from PD-1', priority: 4, click: 'https://chantier.example' },
    });
  });

  it('follows no redirect, and names neither address nor text in what it stores of a failure', async () => {
    const world = await setup();
    world.hook.answers.push('redirect');
    await world.open({ kind: 'attempts_exhausted', subject: { kind: 'task', id: 't' } });
    await world.pass(600);
    expect(world.hook.posted).toHaveLength(0);
    const [channel] = mustOk(await world.app.notify.show(world.caller())).channels;
    expect(channel?.message).toBe('Failed once: The webhook answers with HTTP 307.');
    const events = await world.store.read.selectFrom('event').select('facts').execute();
    expect(JSON.stringify(events)).not.toContain('chantier-topic');
  });

  it('refuses what is no address, and all of it without the passphrase given anew', async () => {
    const world = await setup();
    for (const url of ['ftp://x/y', 'nonsense', 'http://a:b@x/y'])
      expect(await world.app.notify.setWebhook(world.caller(), { url })).toMatchObject({
        refusal: { code: 'invalid_webhook' },
      });
    expect(await world.app.notify.setWebhook(world.caller('standing'), { url: world.hook.url })).toMatchObject({
      refusal: { kind: 'proof-required' },
    });
  });
});
