import { expect, it, onTestFinished } from 'vitest';

import { sessionUseCases } from '../../src/app/sessions/use-cases.ts';
import { systemActor } from '../../src/kernel/index.ts';
import { createBroker } from '../../src/sessions/index.ts';
import { supervisedWorld } from '../../src/sessions/supervisor/testing.ts';
import { sessionWorld } from '../../src/sessions/testing.ts';
import { openPostgres } from '../../src/store/index.ts';
import { postgresMissing, testPostgres } from '../../src/store/testing.ts';
import { startProxy } from '../../src/store/testing-proxy.ts';
import { openAppWorld } from '../app/app-context.ts';

const missing = postgresMissing();

it.skipIf(missing !== undefined)(
  `story 6: the database, and the broker with it, is away: no session crashes by silence, tries follow 1-2-4 s, what really died is found on return, nothing asked is lost (TC-ERR-06, TC-ERR-10, S-50 to S-54)${missing ? ` (did not run: ${missing})` : ''}`,
  async () => {
    const server = await testPostgres();
    const database = await server.createDatabase();
    const proxy = await startProxy(server);
    onTestFinished(() => proxy.close());
    const store = await openPostgres(proxy.urlOf(database), { maxConnections: 8 });
    const broker = createBroker(store, systemActor('test'));
    const world = await supervisedWorld({ store, broker, firstPrompt: 'Do the work.', settings: { cycleMs: 500 } });
    const asking = await world.start('asks-question', 'PD-1');
    await world.inState(asking, 'ESCALATED');
    const silent = await world.start('works-silently', 'PD-2');
    const dying = await world.when(silent, (row) => row.turn_open === 1 && row.pid !== null, 'an open turn');

    proxy.cut();
    await expect.poll(() => broker.status(), { timeout: 30_000 }).toBe('DEGRADED');
    process.kill(dying.pid!, 'SIGKILL');
    await expect(world.run('respond', { workKey: 'PD-1', text: 'lost?' })).rejects.toMatchObject({
      code: 'database_unreachable',
    });
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    // Asked past the proxy: nothing was decided meanwhile.
    const witness = await openPostgres(server.urlOf(database));
    const states = await witness.read.selectFrom('session').select(['work_key', 'state']).orderBy('work_key').execute();
    await witness.close();
    expect(states).toEqual([
      { work_key: 'PD-1', state: 'ESCALATED' },
      { work_key: 'PD-2', state: 'RUNNING' },
    ]);

    proxy.restore();
    await world.until(async () => (await world.events('broker.recovered')).length > 0, 'the recovery', 30_000);
    await world.inState(silent, 'CRASHED');
    const said = (await world.events()).filter((event) => event.kind.startsWith('broker.'));
    expect(said.map((event) => event.kind)).toEqual(['broker.degraded', 'broker.recovered']);
    expect(said[0]?.facts).toMatchObject({ message: 'broker_unavailable', since: expect.any(String) as string });
    expect(Number(said[1]?.facts.attempts)).toBeGreaterThanOrEqual(2);
    expect(Number(said[1]?.facts.outage_ms)).toBeGreaterThan(4_000);
    await world.must('respond', { workKey: 'PD-1', text: 'half up' });
    await world.inState(asking, 'RUNNING');
  },
);

it.skipIf(missing !== undefined)(
  `TC-ERR-06: each of the seven says "Broker unavailable — degraded mode" while the database is away, and changes nothing (ERR-06, S-54)${missing ? ` (did not run: ${missing})` : ''}`,
  async () => {
    const server = await testPostgres();
    const database = await server.createDatabase();
    const proxy = await startProxy(server);
    onTestFinished(() => proxy.close());
    const store = await openPostgres(proxy.urlOf(database), { maxConnections: 4 });
    onTestFinished(() => store.close());
    const world = sessionWorld(store);
    await world.running('PD-1');
    const app = await openAppWorld(store);
    app.ctx.config.setStored(new Map([['gate.phase', 2]]));
    const ctx = { ...app.ctx, sessions: world.ctx, broker: world.broker };
    const notHere = (): never => {
      throw new Error('not in this test');
    };
    const seven = sessionUseCases(ctx, () => Promise.reject(new Error('not in this test')), notHere);
    proxy.cut();
    const caller = app.caller('standing');
    const answers = [
      await seven.start(caller, { workKey: 'PD-2', project: 'backend' }),
      await seven.status(caller),
      await seven.escalations(caller),
      await seven.respond(caller, 'PD-1', 'yes'),
      await seven.pause(caller, 'PD-1'),
      await seven.resume(caller, 'PD-1'),
      await seven.stop(caller, 'PD-1'),
    ];
    for (const answer of answers)
      expect(answer).toMatchObject({
        ok: false,
        refusal: { kind: 'unreachable', message: 'Broker unavailable — degraded mode' },
      });
    proxy.restore();
    await expect.poll(() => world.broker.reconnect(), { timeout: 20_000 }).toBe('OK');
    const rows = await store.read.selectFrom('session').select(['work_key', 'state']).execute();
    expect(rows).toEqual([{ work_key: 'PD-1', state: 'RUNNING' }]);
  },
);
