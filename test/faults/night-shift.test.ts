import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, expect, test } from 'vitest';

import { node } from '../e2e/built-package.ts';
import { type Crew, openCrew, type RunIds, type Step } from '../e2e/crew.ts';
import { entry } from '../e2e/instance.ts';
import { processesOf } from '../e2e/processes.ts';
import { makeMakeRepository, makeRepository } from '../repositories/index.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew({ CHANTIER_MAX_ACTIVE: '4', CHANTIER_HUNG_TIMEOUT: '10s' });
});
afterAll(() => crew?.dispose());

/** Tasks of the night; the short form has half of them. */
const size = process.env.CHANTIER_TEST_FULL === '1' ? 20 : 10;

/** How a task ended that goes on by itself no more. */
type End = 'landed' | 'waits for a human' | undefined;

test(
  'a night of tasks, two limit windows, a reboot, an agent that dies, one that hangs and a flaky check leaves each task landed or before a human with its cause, and no process (issue 5, story 5)',
  { retry: 0 },
  async () => {
    const plain = makeMakeRepository(join(crew.root, 'plain'));
    const flaky = makeFlakyRepository(join(crew.root, 'flaky'));
    const trouble: Record<number, Step[]> = {
      2: [['dieOnce']],
      3: [['freezeOnce']],
      4: [['limitOnce']],
      9: [['limitOnce']],
    };
    const runs: RunIds[] = [];
    for (let number = 1; number <= size; number++) {
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
    const ends = new Map<string, End>();
    for (const began = performance.now(); performance.now() - began < 480_000; await sleep(500)) {
      await landWhatIsOffered();
      for (const [id, end] of await endsOf(runs)) ends.set(id, end);
      const ended = [...ends.values()].filter((end) => end !== undefined).length;
      if (ended === runs.length) break;
      if (!isRebooted && ended >= size / 3) {
        isRebooted = true;
        await reboot(aheadMs);
      }
      // The night passes quickly while a limit lasts. A clock that is set counts against no agent, so the one that hangs takes its time.
      const { limits } = await crew.get('/api/status');
      if (limits.length > 0) {
        aheadMs += 60_000;
        await crew.advanceClock(60_000);
      }
    }

    expect(isRebooted).toBe(true);
    for (const run of runs) expect(ends.get(run.task.id), `task ${run.task.id}`).toBeDefined();
    expect([...ends.values()].filter((end) => end === 'landed').length).toBeGreaterThanOrEqual(0.6 * size);
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
    const morning = execFileSync(node, [entry, 'recap', '--since', '24h'], { env: crew.env, encoding: 'utf8' });
    const lines = morning.trimEnd().split('\n');
    expect(lines.length, morning).toBeLessThanOrEqual(24);
    expect(Math.max(...lines.map((line) => line.length)), morning).toBeLessThanOrEqual(100);
    const landed = [...ends.values()].filter((end) => end === 'landed').length;
    expect(lines[0]).toContain(`${landed} landed`);
    await crew.must(['down', '--stop-agents']);
    await crew.until('no process of the night to be left', async () => leftProcesses().length === 0);
  },
);

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

/** Of each task: landed, or before a human, since a decision about it, its project or its change is open. */
async function endsOf(runs: readonly RunIds[]): Promise<[string, End][]> {
  const tasks: { id: string; status: string }[] = (await crew.get('/api/tasks?limit=200')).items;
  const open: { kind: string; projectId: string | null; subject: { id: string } }[] = (
    await crew.get('/api/decisions?limit=200')
  ).items;
  return runs.map(({ project, task }) => {
    if (tasks.find(({ id }) => id === task.id)?.status === 'done') return [task.id, 'landed'];
    const waits = open.some(
      (one) => one.kind !== 'landing' && (one.projectId === project.id || one.subject.id === task.id),
    );
    return [task.id, waits ? 'waits for a human' : undefined];
  });
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
