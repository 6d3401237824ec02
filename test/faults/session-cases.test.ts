import { existsSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { mustOk, ok } from '../../src/kernel/index.ts';
import type { ProcessIdentity } from '../../src/sessions/host/index.ts';
import { defaultSessionSettings } from '../../src/sessions/index.ts';
import type { SessionRow } from '../../src/sessions/session-store.ts';
import { supervisedWorld, type SupervisedWorld } from '../../src/sessions/supervisor/testing.ts';
import { tellSession } from '../../src/sessions/tell-session.ts';
import { caller } from '../../src/sessions/testing.ts';
import { dueTimer } from '../../src/sessions/supervisor/timers.ts';

const brief = { firstPrompt: 'Do the work.' };

/** A session in each state in which a process lives, and how to bring it there. */
const living: [name: string, agent: string, bring: (world: SupervisedWorld, id: string) => Promise<SessionRow>][] = [
  ['STARTING', 'works-before-open', launched],
  ['RUNNING in a turn', 'works-silently', (world, id) => world.when(id, (row) => row.turn_open === 1, 'a turn')],
  ['RUNNING and idle', 'answers', idle],
  [
    'RUNNING with a permission held',
    'asks-permission',
    (world, id) => world.when(id, (row) => row.waiting_approval === 1, 'the hold'),
  ],
  ['ESCALATED', 'asks-question', (world, id) => world.inState(id, 'ESCALATED')],
  [
    'PAUSED',
    'answers',
    async (world, id) => {
      await idle(world, id);
      await world.must('pause', { workKey: 'PD-1' });
      return world.inState(id, 'PAUSED');
    },
  ],
  ['unresponsive', 'hangs', (world, id) => world.when(id, (row) => row.unresponsive === 1, 'the flag')],
];

async function launched(world: SupervisedWorld, id: string): Promise<SessionRow> {
  await world.until(async () => existsSync(join(world.sessionsFolder, id, '1/pid')), 'the process');
  return world.row(id);
}

function agentOf(world: SupervisedWorld, id: string): ProcessIdentity {
  return JSON.parse(readFileSync(join(world.sessionsFolder, id, '1/pid'), 'utf8')).agent;
}

async function idle(world: SupervisedWorld, id: string): Promise<SessionRow> {
  await world.until(async () => world.calls.turnsEnded.length > 0, 'the end of the turn');
  return world.inState(id, 'RUNNING');
}

it.each(living)(
  'an agent killed -9 while %s does not stay in it: its end is told in the same transaction (sessions cases 1 and 10)',
  async (_name, agent, bring) => {
    const world = await supervisedWorld({
      ...brief,
      judge: () => ({ kind: 'hold', decisionId: 'd-1' }),
    });
    const id = await world.start(agent);
    const before = await bring(world, id);
    process.kill(agentOf(world, id).pid, 'SIGKILL');
    const wanted = before.state === 'STARTING' ? 'START_FAILED' : 'CRASHED';
    const dead = await world.inState(id, wanted);
    expect(dead.reason).toBe('exited');
    expect(await world.store.read.selectFrom('escalation').selectAll().where('status', '=', 'OPEN').execute()).toEqual(
      [],
    );
    expect(world.calls.ended).toMatchObject([{ session: { id }, how: { state: wanted } }]);
    const moves = (await world.events()).filter(({ facts }) => facts.to === wanted);
    expect(moves).toHaveLength(1);
  },
);

it('a session that is still starting is not taken for dead, however often it is probed; its own timeout ends it (sessions case 4)', async () => {
  const world = await supervisedWorld({ ...brief, settings: { startDetectionTimeoutMs: 3_000, cycleMs: 50 } });
  const id = await world.start('works-before-open');
  const row = await world.when(id, (each) => each.launched_at !== null, 'the launch');
  const failed = await world.inState(id, 'START_FAILED');
  expect(failed.reason).toBe('start_timeout');
  expect(failed.ended_at! - row.launched_at!).toBeGreaterThanOrEqual(3_000);
  expect(await world.events('session.flagged')).toEqual([]);
});

it('an idle worker is not taken for a zombie: probed again and again, over a restart, it stays as it is and nothing is done twice (sessions case 7)', async () => {
  const world = await supervisedWorld({ ...brief, settings: { cycleMs: 50 }, pace: { pingIdleMs: 50 } });
  const id = await world.start('answers');
  const before = await idle(world, id);
  for (const restart of [false, true, true]) {
    if (restart) await world.restart();
    const { journal_offset: _, ...seen } = await world.row(id);
    const from = seen.last_seen_at!;
    await world.when(id, (row) => row.last_seen_at! > from || row.pid === before.pid, 'a look');
    await new Promise((later) => setTimeout(later, 700));
  }
  expect(await world.row(id)).toMatchObject({
    state: 'RUNNING',
    pid: before.pid,
    generation: 1,
    unresponsive: 0,
    stalled: 0,
  });
  expect(world.calls.turnsEnded).toHaveLength(1);
  expect(world.variables).toHaveLength(1);
  expect(await world.events('session.flagged')).toEqual([]);
});

it('only what runs is reaped: a session that waits for its start is judged by no timer (sessions case 12)', () => {
  const waiting = {
    state: 'STARTING',
    process: 'wanted',
    live_at: null,
    launched_at: null,
    peer_seen_at: null,
    created_at: 0,
  };
  const far = Number.MAX_SAFE_INTEGER;
  expect(dueTimer(waiting as SessionRow, defaultSessionSettings, far)).toBeUndefined();
  expect(dueTimer({ ...waiting, process: 'launching' } as SessionRow, defaultSessionSettings, far)).toBeUndefined();
  const launched = { ...waiting, process: 'launching', launched_at: 0 } as SessionRow;
  expect(dueTimer(launched, defaultSessionSettings, far)).toBe('start_timeout');
});

it('work that blocks the start of one session holds up nobody else’s liveness (sessions case 19)', async () => {
  const blocked = Promise.withResolvers<void>();
  const world = await supervisedWorld({
    ...brief,
    plan: async (session, plan) => {
      if (session.workKey === 'PD-2') await blocked.promise;
      return ok(plan);
    },
  });
  const id = await world.start('works-silently', 'PD-1');
  await world.start('answers', 'PD-2');
  const row = await world.when(id, (each) => each.turn_open === 1 && each.pid !== null, 'an open turn');
  const killedAt = performance.now();
  process.kill(row.pid!, 'SIGKILL');
  await world.inState(id, 'CRASHED');
  expect(performance.now() - killedAt).toBeLessThan(2_000);
  blocked.resolve();
});

it('a session whose generation is gone is not shown as live and not connected to for ever: CRASHED once (sessions case 76)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('answers');
  await idle(world, id);
  const pids = world.pids(await world.row(id));
  await world.supervisor().stop();
  for (const pid of pids) process.kill(pid, 'SIGKILL');
  rmSync(join(world.sessionsFolder, id), { recursive: true });
  await world.restart();
  expect((await world.inState(id, 'CRASHED')).reason).toBe('generation_lost');
  await world.when(id, (row) => row.wound_up_at !== null, 'the winding up');
  await world.restart();
  expect(world.supervisor().attachedSessions()).toEqual([]);
  expect(world.variables).toHaveLength(1);
});

it('a session that was paused and resumed does not stay in a state of before: it works again and says so (sessions case 77)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('asks-question');
  await world.inState(id, 'ESCALATED');
  await world.must('respond', { workKey: 'PD-1', text: 'one' });
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
  await world.must('pause', { workKey: 'PD-1' });
  await world.inState(id, 'PAUSED');
  await world.restart();
  await world.must('resume', { workKey: 'PD-1' });
  mustOk(await world.store.tx((tx) => tellSession(tx, world.ctx, caller, { session: id, text: 'go on', key: 'T' })));
  await world.inState(id, 'ESCALATED');
  await world.must('respond', { workKey: 'PD-1', text: 'two' });
  await world.until(async () => world.calls.turnsEnded.length >= 2, 'a further turn');
  expect((await world.inState(id, 'RUNNING')).generation).toBe(1);
});
