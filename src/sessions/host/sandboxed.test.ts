import { dirname, join } from 'node:path';

import { describe, expect, onTestFinished, test } from 'vitest';

import { AgentWorld, fakeProfile, survivorsOf } from '../../../test/agents/agent-world.ts';
import { cannotRun, makeSmallWorld } from '../../../test/sandbox/small-world.ts';
import { mustOk, newId } from '../../kernel/index.ts';
import { acpDriver } from '../drivers/index.ts';
import { runMarker, startGeneration } from './index.ts';

const agents = join(import.meta.dirname, '../../../test/agents');
const graces = { endOfInputGraceMs: 300, termGraceMs: 600, killGraceMs: 1_000 };

/** A fake agent inside the real sandbox of this machine, with its conversation open. */
async function openSandboxed(name: string) {
  const world = new AgentWorld();
  onTestFinished(() => world.close());
  const sessionId = newId<string>();
  const small = await makeSmallWorld({ readOnly: [dirname(process.execPath), agents] });
  const env = { ...small.profile.env, CHANTIER_RUN: runMarker(sessionId, 1) };
  const command = await small.sandbox.wrap(
    { ...small.profile, env },
    [process.execPath, join(agents, `${name}.mjs`)],
    small.state,
  );
  const generation = mustOk(await startGeneration({ sessionsFolder: world.folder, sessionId, generation: 1, command }));
  world.generations.push(generation);
  const attached = await world.attach(generation, { profile: fakeProfile(), cwd: small.clone });
  await attached.witness.event('opened');
  return attached;
}

describe.skipIf(cannotRun)(`inside the real sandbox${cannotRun}`, () => {
  test('an agent works through the wrapper: prompt, permission, answer', async () => {
    const { link, witness } = await openSandboxed('asks-permission');
    mustOk(await link.prompt('p1', 'go'));
    const { permission } = await witness.event('permission-asked');
    mustOk(await link.answerPermission(permission.requestId, 'allow_once'));
    await witness.event('turn-ended');
    expect(witness.text()).toMatch(/: proceed_once$/);
  });

  test('SIGTERM reaches the agent itself, which ends in its own way (X-15)', async () => {
    const { generation, witness } = await openSandboxed('exits-zero-on-signal');
    expect(await generation.stop(graces)).toMatchObject({ endedBy: 'terminate', survivors: [] });
    expect(await witness.flag('exited')).toMatchObject({ code: 0, isAfterLatch: true });
    expect(survivorsOf(generation)).toEqual([]);
  });

  test('an agent that ignores everything goes with pid 1 inside, and its server with it (X-15, X-16)', async () => {
    const stubborn = await openSandboxed('ignores-sigterm');
    expect(await stubborn.generation.stop(graces)).toMatchObject({ endedBy: 'kill', swept: 0, survivors: [] });
    const parent = await openSandboxed('leaves-server');
    mustOk(await parent.link.prompt('p1', 'go'));
    await parent.witness.event('turn-ended');
    expect(await parent.generation.stop(graces)).toMatchObject({ endedBy: 'end-of-input', swept: 0, survivors: [] });
    expect(survivorsOf(parent.generation)).toEqual([]);
  });

  test('with its wrapper the whole sandbox dies (--die-with-parent); the end is known and nothing is left (X-10)', async () => {
    const { generation, witness } = await openSandboxed('answers');
    process.kill(generation.record()!.wrapper.pid, 'SIGKILL');
    expect(await witness.flag('exited')).toMatchObject({ cause: 'gone' });
    expect((await generation.stop(graces)).survivors).toEqual([]);
    expect(survivorsOf(generation)).toEqual([]);
  });
});

test('the driver is the one that the profile names', () => {
  expect(acpDriver.kind).toBe('acp');
});
