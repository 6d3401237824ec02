import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { type Clock, systemClock } from '../../src/kernel/index.ts';
import { openPostgres, openSqlite } from '../../src/store/index.ts';
import { openTestPostgres, postgresMissing } from '../../src/store/testing.ts';
import {
  supervisedWorld,
  type SupervisedOptions,
  type SupervisedWorld,
} from '../../src/sessions/supervisor/testing.ts';

const hour = 3_600_000;
const brief = { firstPrompt: 'Do the work.' };

/** The machine's clocks, of which the wall clock can be set: what a suspend or an administrator does to it. */
function settableClock(): Clock & { aheadMs: number } {
  return {
    aheadMs: 0,
    now() {
      return systemClock.now() + this.aheadMs;
    },
    monotonic: systemClock.monotonic,
  };
}

async function clockedWorld(
  options: SupervisedOptions,
  dialect = 'sqlite',
): Promise<SupervisedWorld & { clock: ReturnType<typeof settableClock> }> {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-absent-'));
  const clock = settableClock();
  const store =
    dialect === 'sqlite'
      ? await openSqlite(join(folder, 'chantier.db'), { clock })
      : await openPostgres((await openTestPostgres()).location, { clock });
  return { ...(await supervisedWorld({ ...options, folder, store })), clock };
}

const missing = postgresMissing();
const dialects = ['sqlite', ...(missing === undefined ? ['postgres'] : [])];

it.each(dialects)(
  'a machine that slept an hour ends no session: hung and starting agents get the time that they had left (sessions decision 4, sessions cases 67 and 73), on %s',
  async (dialect) => {
    const settings = { hungTimeoutMs: 60_000, firstLivenessTimeoutMs: 60_000 };
    const world = await clockedWorld({ ...brief, settings }, dialect);
    const ids = [await world.start('hangs', 'PD-1'), await world.start('never-opens', 'PD-2')];
    const hung = await world.when(ids[0]!, (row) => row.unresponsive === 1, 'the flag');
    const seen = await world.when(ids[1]!, (row) => row.peer_seen_at !== null, 'the peer');
    world.clock.aheadMs += hour;
    await world.when(ids[0]!, (row) => row.unresponsive_since! >= hung.unresponsive_since! + hour - 5_000, 'the shift');
    await world.when(ids[1]!, (row) => row.peer_seen_at! >= seen.peer_seen_at! + hour - 5_000, 'the shift');
    expect((await world.row(ids[0]!)).state).toBe('RUNNING');
    expect((await world.row(ids[1]!)).state).toBe('STARTING');
    expect(await world.events('session.alert')).toEqual([]);
  },
);

it('a clock that was set back an hour keeps no timer from running (S-29)', async () => {
  const world = await clockedWorld({ ...brief, settings: { firstLivenessTimeoutMs: 1_500 } });
  const id = await world.start('never-opens');
  await world.when(id, (row) => row.peer_seen_at !== null, 'the peer');
  world.clock.aheadMs -= hour;
  expect((await world.inState(id, 'START_FAILED')).reason).toBe('first_liveness_timeout');
});

it('a server that was down for an hour ends no session that had begun: timers go on from their stored times (S-48, sessions case 14)', async () => {
  const world = await clockedWorld({ ...brief, settings: { startDetectionTimeoutMs: 60_000 } });
  const id = await world.start('works-before-open');
  const before = await world.when(id, (row) => row.process === 'live', 'the process');
  await world.supervisor().stop();
  world.clock.aheadMs += hour;
  await world.restart();
  const after = await world.row(id);
  expect(after.state).toBe('STARTING');
  expect(after.launched_at! - before.launched_at!).toBeGreaterThan(hour - 5_000);
});

it('a flag that the last server left raised is lowered by an agent that answers, and holds for one that does not (S-48, sessions case 50)', async () => {
  const world = await clockedWorld({ ...brief, settings: { hungTimeoutMs: 3_000 } });
  const ids = [await world.start('works-silently', 'PD-1'), await world.start('hangs', 'PD-2')];
  const [lively] = await Promise.all([
    world.when(ids[0]!, (row) => row.turn_open === 1 && row.pid !== null, 'an open turn'),
    world.when(ids[1]!, (row) => row.unresponsive === 1, 'the flag'),
  ]);
  process.kill(lively.pid!, 'SIGSTOP');
  await world.when(ids[0]!, (row) => row.unresponsive === 1, 'the flag');
  await world.supervisor().stop();
  process.kill(lively.pid!, 'SIGCONT');
  await world.restart();
  expect((await world.when(ids[0]!, (row) => row.unresponsive === 0, 'the flag to fall')).state).toBe('RUNNING');
  expect((await world.inState(ids[1]!, 'CRASHED')).reason).toBe('hung');
  expect((await world.row(ids[0]!)).state).toBe('RUNNING');
});
