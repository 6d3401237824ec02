import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, onTestFinished, test, vi } from 'vitest';

import { newId } from '../../src/kernel/index.ts';
import {
  askToEnd,
  findByRunMarker,
  insidePids,
  killTree,
  openSandbox,
  startWrapped,
  sweepRun,
} from '../../src/sandbox/index.ts';
import { cannotRun, makeSmallWorld } from './small-world.ts';

/** Leaves children of every kind: in the background, in a session of their own, twice forked, deaf to SIGTERM. */
const breed = `
trap '' TERM HUP
sleep 300 &
setsid sleep 301 &
( setsid sh -c 'trap "" TERM HUP; sleep 302 & wait' & )
nohup sleep 303 >/dev/null 2>&1 &
while [ "$(cat /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' ' ' | grep -o 'sleep 30[0-3]' | sort -u | wc -l)" -lt 4 ]; do :; done
`;

async function startBreeder(ending: string, prepared = '') {
  const world = await makeSmallWorld();
  const runId = newId<string>();
  const profile = { ...world.profile, env: { ...world.profile.env, CHANTIER_RUN: runId } };
  const wrapped = await world.sandbox.wrap(
    profile,
    ['/bin/sh', '-c', `${breed}\n${prepared}\necho bred\n${ending}`],
    world.state,
  );
  const child = startWrapped(wrapped);
  const exited = once(child, 'exit');
  onTestFinished(() => void sweepRun(runId));
  await once(child.stdout!, 'data');
  return { child, exited, runId, pid: child.pid! };
}

const gone = (runId: string) => vi.waitFor(() => expect(findByRunMarker(runId)).toEqual([]), { interval: 5 });

describe.skipIf(cannotRun)(`six ways of ending leave no survivor${cannotRun}`, () => {
  test('1: the command ends by itself (X-15, X-16)', async () => {
    const { exited, runId } = await startBreeder('exit 7');
    expect(await exited).toEqual([7, null]);
    await gone(runId);
  });

  test('2: the command is asked to end by its own pid (X-15)', async () => {
    const { exited, runId, pid } = await startBreeder('while :; do sleep 0.01; done', "trap 'exit 0' TERM");
    askToEnd(pid);
    await exited;
    await gone(runId);
  });

  test('3: pid 1 inside is killed (X-15)', async () => {
    const { exited, runId, pid } = await startBreeder('wait');
    process.kill(insidePids(pid)!.init, 'SIGKILL');
    await exited;
    await gone(runId);
  });

  test('4: the outermost bubblewrap is killed with -9 (X-15)', async () => {
    const { child, exited, runId } = await startBreeder('wait');
    child.kill('SIGKILL');
    await exited;
    await gone(runId);
  });

  test('5: the process that started it is killed with -9 (X-15)', async () => {
    const { runId, parent } = await startUnderParent();
    expect(findByRunMarker(runId).length).toBeGreaterThan(5);
    parent.kill('SIGKILL');
    await gone(runId);
  });

  test('6: time is up and the command is deaf (X-15)', async () => {
    const { shell } = await makeSmallWorld();
    const outcome = await shell(`${breed}\necho bred; wait; sleep 5`, { timeoutMs: 600, graceMs: 50 });
    expect(outcome).toMatchObject({ timedOut: true, survivors: 0, outputTail: 'bred\n' });
  });

  test('each shows its pids from outside: pid 1 inside and the command (X-15)', async () => {
    const { pid, exited } = await startBreeder('wait');
    const inside = insidePids(pid)!;
    expect(readFileSync(`/proc/${inside.init}/status`, 'utf8')).toMatch(/^NSpid:.*\t1$/m);
    expect(readFileSync(`/proc/${inside.command}/cmdline`, 'utf8')).toMatch(/^\/bin\/sh\0-c/);
    killTree(pid);
    await exited;
  });

  async function startUnderParent(): Promise<{ runId: string; parent: ChildProcess }> {
    const world = await makeSmallWorld();
    const runId = newId<string>();
    const profile = { ...world.profile, env: { ...world.profile.env, CHANTIER_RUN: runId } };
    const wrapped = await world.sandbox.wrap(profile, ['/bin/sh', '-c', `${breed}\necho bred; wait`], world.state);
    const parent = spawn(process.execPath, [join(import.meta.dirname, 'parent.ts'), JSON.stringify(wrapped)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(parent.stdout, 'data');
    return { runId, parent };
  }
});

test('without a sandbox the sweep by marker is what finds them: so the check bites (X-15)', async () => {
  const { sandbox } = await openSandbox({ mode: 'none' });
  const { shell } = await makeSmallWorld({}, sandbox);
  const outcome = await shell(`${breed}\necho bred; exit 0`);
  expect(outcome).toMatchObject({ exitCode: 0, outputTail: 'bred\n' });
  expect(outcome.survivors).toBeGreaterThan(0);
});
