import { join } from 'node:path';

import { expect, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import type { DecisionView, StatusView, TranscriptPage } from '../../src/wire/index.ts';
import { openWorld } from '../app/world.ts';

test('a start that fails is not silent until the third time: status and logs say which try, why, and when the next comes', async () => {
  const world = await openWorld();
  const broken = join(import.meta.dirname, '../agents/exits-at-once.mjs');
  const command = [process.execPath, broken];
  const agent = { codename: 'broken', family: 'claude', roles: ['author' as const], driver: 'acp' as const, command };
  mustOk(await world.app.work.addAgent(world.caller(), agent));
  const run = await world.run(world.checkout(), 'Write', { author: [] }, { agent: 'broken' });
  const status = async () => JSON.parse((await world.cli(['status', '--json'])).out) as StatusView;
  const [retry] = await world.until('the first failed start', async () => {
    const { retries } = await status();
    return retries.length > 0 && retries;
  });
  expect(retry).toMatchObject({
    taskId: run.task.id,
    agent: 'broken',
    state: 'START_FAILED',
    reason: 'exited',
    attempt: 1,
    maxAttempts: 3,
    failure: { exitCode: 3, signal: null, errors: expect.stringContaining('no licence') },
  });
  const line = /start failed 1 of 3: exited, exit 3, "no licence found", next try /;
  expect((await world.cli(['status'])).out).toMatch(line);
  const logs = await world.cli(['logs', retry!.sessionId]);
  expect(logs.err).toMatch(line);
  expect(logs.err).toContain('It failed: exit 3.');
  const page = JSON.parse((await world.cli(['logs', retry!.sessionId, '--json'])).out) as TranscriptPage;
  expect(page).toMatchObject({ ended: true, failure: { exitCode: 3 }, retry: { attempt: 1 } });
  const ended = await world.ctx.store.read
    .selectFrom('event')
    .select('facts')
    .where('kind', '=', 'session.process-ended')
    .where('subject_id', '=', retry!.sessionId)
    .execute();
  expect(ended.map(({ facts }) => JSON.parse(facts) as unknown)).toEqual([expect.objectContaining({ exit_code: 3 })]);
  expect(ended[0]?.facts).not.toContain('licence');
  const asked = await world.until('a human to be asked', async () => {
    // A clock that is set ahead in the middle of a start makes that start overdue, which is another failure.
    const starting = world.ctx.store.read.selectFrom('session').select('id').where('wound_up_at', 'is', null);
    if ((await starting.execute()).length === 0) await world.pass(60_000);
    const open = mustOk(await world.app.decisions.list(world.caller(), { limit: 10, kind: 'attempts_exhausted' }));
    return open.items[0];
  });
  // From here on it is the human's: nothing is tried again by itself.
  expect((await status()).retries).toEqual([]);
  const whole = JSON.parse((await world.cli(['pending', asked.id, '--json'])).out) as DecisionView;
  expect(whole.detail).toMatchObject({ failures: Array.from({ length: 3 }, () => ({ exitCode: 3, signal: null })) });
});
