import { expect, it } from 'vitest';

import { openTestSqlite } from '../../store/testing.ts';
import { switchedBroker } from '../testing.ts';
import { dueTimer } from './timers.ts';
import { type SupervisedOptions, supervisedWorld } from './testing.ts';

/** A supervised world whose broker can be switched off; tries to reach it again come at once when `retry` is called. */
async function setup(options: SupervisedOptions = {}) {
  const { store, clock } = await openTestSqlite();
  const broker = switchedBroker(store);
  const waits: number[] = [];
  let go: (() => void) | undefined;
  const world = await supervisedWorld({
    firstPrompt: 'Do the work.',
    ...options,
    settings: { cycleMs: 50, ...options.settings },
    store,
    broker,
    brokerWait(ms) {
      waits.push(ms);
      return new Promise((resolve) => (go = resolve));
    },
  });
  const said = async (kind: string) => (await world.events(kind)).length;
  return {
    ...world,
    broker,
    clock,
    waits,
    async cut() {
      broker.isUp = false;
      await world.until(async () => (await said('broker.degraded')) > 0, 'the alert');
    },
    async retry() {
      const before = waits.length;
      go?.();
      await world.until(async () => waits.length > before || (await said('broker.recovered')) > 0, 'the next try');
    },
  };
}

it('TC-ERR-06: while the broker is away nothing becomes CRASHED, START_FAILED or started; it is said once, the tries go on (ERR-06, S-51, S-53)', async () => {
  const world = await setup({ settings: { startDetectionTimeoutMs: 300, firstLivenessTimeoutMs: 300 } });
  const living = await world.start('works-silently', 'PD-1');
  const row = await world.when(living, (each) => each.turn_open === 1, 'an open turn');
  const starting = await world.start('never-opens', 'PD-2');
  await world.when(starting, (each) => each.peer_seen_at !== null, 'its peer');
  await world.cut();
  process.kill(row.pid!, 'SIGKILL');
  const wanted = await world.start('answers', 'PD-3');
  for (let n = 0; n < 4; n += 1) await world.retry();
  world.clock.advance(60_000);
  // Several looks of the supervisor (50 ms each) pass.
  await new Promise((resolve) => setTimeout(resolve, 250));
  expect((await world.row(living)).state).toBe('RUNNING');
  expect((await world.row(starting)).state).toBe('STARTING');
  expect(await world.row(wanted)).toMatchObject({ state: 'STARTING', process: 'wanted' });
  expect(await world.events('broker.degraded')).toHaveLength(1);
  expect(world.waits).toEqual([1_000, 2_000, 4_000, 8_000, 10_000]);

  // Back: what really died is found at once, what was wanted starts, and the timer has only what was left of it.
  world.broker.isUp = true;
  await world.retry();
  await world.inState(living, 'CRASHED');
  expect((await world.row(starting)).state).toBe('STARTING');
  world.clock.advance(300);
  await world.inState(starting, 'START_FAILED');
  await world.inState(wanted, 'RUNNING');
  expect(world.faults).toEqual([]);
});

it('TC-ERR-10: commands during an outage are stored, say so, and take effect when the broker is back; the recovery reconciles (S-50, S-54, CA-12)', async () => {
  const world = await setup();
  const id = await world.start('asks-question');
  await world.inState(id, 'ESCALATED');
  await world.cut();
  const answered = await world.run('respond', { workKey: 'PD-1', text: 'half up' });
  expect(answered).toMatchObject({
    ok: true,
    value: {
      notice: 'Broker unavailable — degraded mode. The command is stored and goes out when the broker is back.',
    },
  });
  expect(await world.run('status')).toMatchObject({ ok: true, value: { broker: 'DEGRADED', unknown_peers: [] } });
  world.broker.isUp = true;
  await world.retry();
  await world.inState(id, 'RUNNING');
  const kinds = (await world.events()).map((event) => event.kind).filter((kind) => kind.startsWith('broker.'));
  expect(kinds).toEqual(['broker.degraded', 'broker.recovered']);
  expect(await world.run('status')).toMatchObject({ ok: true, value: { broker: 'UP' } });
});

it.each(['pause', 'resume', 'stop'])('TC-ERR-06: %s reports the outage and is carried out (S-54)', async (name) => {
  const world = await setup();
  await world.inState(await world.start('answers'), 'RUNNING');
  if (name === 'resume') await world.must('pause', { workKey: 'PD-1' });
  await world.cut();
  expect(await world.run(name, { workKey: 'PD-1' })).toMatchObject({
    ok: true,
    value: {
      notice: expect.stringMatching(/^Broker unavailable — degraded mode/) as string,
      result: { value: { state: { pause: 'PAUSED', resume: 'RUNNING', stop: 'ABORTED' }[name] } },
    },
  });
  world.broker.isUp = true;
  await world.retry();
});

it('every timer of a session is extended by the outages since it began, and by none before (S-53)', async () => {
  const { ctx, running, row } = await setup();
  const started = await row((await running('PD-9')).sessionId);
  const settings = ctx.settings();
  const silent = {
    ...started,
    launched_at: 1_000,
    live_at: null,
    peer_seen_at: null,
    process: 'live' as const,
    turn_open: 1,
  };
  const limit = settings.startDetectionTimeoutMs;
  expect(dueTimer(silent, settings, 1_000 + limit)).toBe('start_timeout');
  expect(dueTimer(silent, settings, 1_000 + limit, { lostMs: () => 1 })).toBeUndefined();
  const seen = { ...silent, peer_seen_at: 2_000 };
  const lostMs = (since: number) => (since >= 2_000 ? 5 : 0);
  expect(dueTimer(seen, settings, 2_000 + settings.firstLivenessTimeoutMs + 4, { lostMs })).toBeUndefined();
  expect(dueTimer(seen, settings, 2_000 + settings.firstLivenessTimeoutMs + 5, { lostMs })).toBe(
    'first_liveness_timeout',
  );
  const hung = { ...silent, live_at: 1, unresponsive_since: 3_000 };
  expect(dueTimer(hung, settings, 3_000 + settings.hungTimeoutMs, { lostMs })).toBeUndefined();
  expect(dueTimer(hung, settings, 3_005 + settings.hungTimeoutMs, { lostMs })).toBe('hung');
});
