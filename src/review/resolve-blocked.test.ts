import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { finishLanding } from './finish-landing.ts';
import { resolveBlocked } from './resolve-blocked.ts';
import { humans, reviewWorld, server } from './testing.ts';

eachStore((_dialect, open) => {
  async function setup() {
    const { store } = await open();
    const world = reviewWorld(store);
    const finish = (landing: { id: string }, outcome: Parameters<typeof finishLanding>[1]['outcome']) =>
      store.tx((tx) => finishLanding(tx, { landingId: landing.id, outcome, humans, actor: server }));
    return { store, world, finish };
  }

  it('R-23, I5: refused with no human configured it is held, and not tried again and again', async () => {
    const { store, world } = await setup();
    const landing = mustOk(await world.start(await world.approved()));
    const refused = { kind: 'failed', reason: 'refused', detail: { summary: 'nothing to land' } } as const;
    const ended = mustOk(
      await store.tx((tx) => finishLanding(tx, { landingId: landing.id, outcome: refused, humans: [], actor: server })),
    );
    expect(ended.pullRequest).toMatchObject({ state: 'held', stateReason: 'landing_refused', heldFrom: 'approved' });
  });

  it('I5: what fails three times by the machine’s fault goes to a human, and costs the author no round', async () => {
    const { world, finish } = await setup();
    const pullRequest = await world.approved();
    const states: string[] = [];
    for (let index = 0; index < 3; index++) {
      const landing = mustOk(await world.start(pullRequest));
      const detail = { summary: 'the registry is down' };
      states.push(mustOk(await finish(landing, { kind: 'failed', reason: 'error', detail })).pullRequest.state);
    }
    expect(states).toEqual(['approved', 'approved', 'hitl']);
    expect(await world.read(pullRequest.id)).toMatchObject({ stateReason: 'landing_error', rounds: 0 });
  });

  it('what blocks an approved change sends it to whom it waits for (P3 land)', async () => {
    const { store, world } = await setup();
    const pass = async (code: string, extra: { humans?: string[] } = {}) => {
      const pullRequest = await world.approved();
      const blocked = { pullRequestId: pullRequest.id, code, message: 'why', humans, actor: server, ...extra };
      return mustOk(await store.tx((tx) => resolveBlocked(tx, blocked)));
    };
    expect(await pass('checks_undefined')).toMatchObject({ state: 'hitl', stateReason: 'checks_undefined' });
    const [decision] = await store.read.selectFrom('decision_request').selectAll().execute();
    expect(JSON.parse(decision?.detail ?? '')).toMatchObject({ about: { summary: 'why' } });
    expect(await pass('approval_missing')).toMatchObject({ state: 'awaiting_reviewer' });
    expect(await pass('risk_unknown')).toMatchObject({ state: 'awaiting_risk' });
    expect(await pass('base_closed')).toMatchObject({ state: 'approved' });
    expect(await pass('base_missing', { humans: [] })).toMatchObject({ state: 'held', stateReason: 'base_missing' });
  });
});
