import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { type Crew, openCrew, type RunIds, type Step } from '../e2e/crew.ts';
import { processesOf } from '../e2e/processes.ts';
import { makeMakeRepository, makeRepository } from '../repositories/index.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew({ CHANTIER_MAX_ACTIVE: '4' });
});
afterAll(() => crew?.dispose());

/** How a task ended that goes on by itself no more. */
type End = 'landed' | 'waits for a human' | undefined;

test('a night of 20 tasks, two limit windows, a reboot, an agent that dies, one that hangs and a flaky check leaves each task landed or before a human with its cause, and no process (issue 5, story 5)', async () => {
  const plain = makeMakeRepository(join(crew.root, 'plain'));
  const flaky = makeFlakyRepository(join(crew.root, 'flaky'));
  const trouble: Record<number, Step[]> = {
    2: [['dieOnce']],
    4: [['freezeOnce']],
    6: [['limitOnce']],
    13: [['limitOnce']],
  };
  const runs: RunIds[] = [];
  for (let number = 1; number <= 20; number++) {
    const work = (text: string): Step[] => [
      ['write', `note-${number}.txt`, text],
      ['commit', `Note ${number}`],
      ['done', `note ${number}`],
    ];
    const steps = [...(trouble[number] ?? []), ...work('one\n')];
    const request = crew.request(`Note number ${number}`, steps, work('two\n'));
    runs.push(await crew.run(number % 5 === 0 ? flaky : plain, request));
  }

  let aheadMs = 0;
  let isRebooted = false;
  let last = { seen: '', at: performance.now() };
  const ends = new Map<string, End>();
  for (const began = performance.now(); performance.now() - began < 480_000; await sleep(300)) {
    await landWhatIsOffered();
    for (const run of runs) ends.set(run.task.id, await endOf(run));
    const ended = [...ends.values()].filter((end) => end !== undefined).length;
    if (ended === runs.length) break;
    if (!isRebooted && ended >= 8) {
      isRebooted = true;
      await reboot(aheadMs);
    }
    // The night passes quickly where nothing moves: a limit, an agent that hangs.
    const seen = await picture();
    if (seen !== last.seen) last = { seen, at: performance.now() };
    else if (performance.now() - last.at > 4_000) {
      aheadMs += 30_000;
      await crew.advanceClock(30_000);
      last = { seen, at: performance.now() - 3_000 };
    }
  }

  expect(isRebooted).toBe(true);
  for (const run of runs) expect(ends.get(run.task.id), `task ${run.task.id}`).toBeDefined();
  expect([...ends.values()].filter((end) => end === 'landed').length).toBeGreaterThanOrEqual(14);
  const moves = await crew.events('session.moved');
  const reasons = new Set(moves.map(({ facts }) => facts.reason));
  expect([...reasons]).toEqual(expect.arrayContaining(['hung']));
  const windows = (await crew.events('session.flagged')).filter(({ facts }) => facts.flag === 'limited' && facts.on);
  expect(windows.length).toBeGreaterThanOrEqual(2);

  await crew.until('every session to have ended', async () => {
    const { items } = await crew.get('/api/sessions?living=true&limit=100');
    return items.length === 0;
  });
  const { code } = await crew.cli(['doctor', '--deep']);
  expect(code).toBe(0);
  await crew.must(['down', '--stop-agents']);
  await crew.until('no process of the night to be left', async () => leftProcesses().length === 0);
});

/** Its check fails in one run of four, whatever the change. */
function makeFlakyRepository(folder: string): string {
  return makeRepository(folder, {
    Makefile: 'check:\n\tsh ./test.sh\n',
    'test.sh': 'test "$(od -An -N1 -tu1 /dev/urandom)" -ge 64 && echo ok\n',
    'README.md': '# Flaky\n',
  });
}

/** What a human who is still awake says yes to. */
async function landWhatIsOffered(): Promise<void> {
  const { items } = await crew.get('/api/decisions?kind=landing&limit=100');
  for (const offer of items) await crew.settle(offer.id, { verdict: 'approve' }).catch(() => {}); // the base may have moved
}

/** Landed, or before a human: a decision about the task, its project or its change is open. */
async function endOf(run: RunIds): Promise<End> {
  const task = await crew.get(`/api/tasks/${run.task.id}`);
  if (task.status === 'done') return 'landed';
  const { items } = await crew.get('/api/decisions?limit=200');
  const waits = items.some(
    (one: { kind: string; projectId: string | null; subject: { id: string } }) =>
      one.kind !== 'landing' && (one.projectId === run.project.id || one.subject.id === run.task.id),
  );
  return waits ? 'waits for a human' : undefined;
}

/** Everything that moves, in one text. */
async function picture(): Promise<string> {
  const { items } = await crew.get('/api/sessions?living=true&limit=100');
  const pulls = await crew.get('/api/pull-requests?limit=200');
  return JSON.stringify([
    items.map((one: { id: string; state: string; generation: number }) => [one.id, one.state, one.generation]),
    pulls.items.map((one: { number: number; state: string }) => [one.number, one.state]),
  ]);
}

/** The machine goes down with everything on it, and comes back at a time that has gone on. */
async function reboot(aheadMs: number): Promise<void> {
  const own = crew.server().pid;
  await crew.kill();
  for (const pid of leftProcesses()) if (pid !== own) endNow(pid);
  await crew.up();
  await crew.advanceClock(aheadMs + 60_000);
}

function leftProcesses(): number[] {
  return processesOf(crew.root);
}

function endNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch {
    // it went down with another one
  }
}
