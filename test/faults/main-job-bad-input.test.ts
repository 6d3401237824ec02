import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, openSync, readdirSync, rmSync, writeFileSync, writeSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

import { type Crew, openCrew, scripted, type Step } from '../e2e/crew.ts';
import { createInstance } from '../e2e/instance.ts';
import { folderState, makeFailingSetupRepository, makeMakeRepository } from '../repositories/index.ts';

/** Mounting needs root. */
const isRoot = process.getuid?.() === 0;

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterEach(() => crew.calm());
afterAll(() => crew?.dispose());

const greet: Step[] = [['write', 'greeting.txt', 'hello again\n'], ['commit', 'Greet'], ['done']];

/** A script beside the instance, registered as an author. */
async function addAuthor(codename: string, source: string): Promise<void> {
  const folder = join(crew.root, `agent-${codename}`);
  mkdirSync(folder);
  writeFileSync(join(folder, 'agent.mjs'), source);
  await crew.addAgent(codename, 'claude', 'author', [join(folder, 'agent.mjs')]);
}

/** The rests between the attempts of a task are minutes; the clock goes ahead until a human is asked. */
function attemptsUsedUp(run: { project: { id: string } }): Promise<{ id: string; detail: { failures: unknown } }> {
  return crew.until(
    'the attempts to be used up',
    async () => {
      await crew.advanceClock(60_000);
      const open = await crew.get('/api/decisions?kind=attempts_exhausted');
      return open.items.find((one: { projectId: string }) => one.projectId === run.project.id);
    },
    90_000,
  );
}

describe('agents that are no use (S-29, design 7)', () => {
  test('one that exits at once does not start for ever: after its attempts a human is asked, with what it said', async () => {
    await addAuthor('quitter', 'console.error("I need a key that I do not have"); process.exit(3);');
    const repository = makeMakeRepository(join(crew.root, 'quits'));
    const before = folderState(repository);
    const run = await crew.run(repository, 'Quit', { agent: 'quitter' });
    const failed = await crew.session(run, (one) => one.state === 'START_FAILED');
    expect(failed.endReason).toBe('exited');
    const asked = await attemptsUsedUp(run);
    expect(JSON.stringify(asked.detail.failures)).toContain('I need a key that I do not have');
    expect(folderState(repository)).toEqual(before);
    await crew.settle(asked.id, { verdict: 'refuse' });
    expect((await crew.get(`/api/tasks/${run.task.id}`)).status).toBe('cancelled');
  });

  test('one that speaks no ACP is START_FAILED when its time is over, and no process of it stays', async () => {
    await crew.send('PUT', '/api/settings/sessions.startTimeout', { value: '5s' }, { proof: true });
    await addAuthor('mumbler', 'setInterval(() => console.log("Hello! I am an agent."), 100);');
    const repository = makeMakeRepository(join(crew.root, 'mumbles'));
    const run = await crew.run(repository, 'Mumble', { agent: 'mumbler' });
    const failed = await crew.session(run, (one) => one.state === 'START_FAILED');
    await crew.until('its process to be gone', async () => !listProcesses().includes('agent-mumbler'));
    expect(failed.endReason).toMatch(/start|peer|timeout/);
    await crew.send('PATCH', `/api/tasks/${run.task.id}`, { status: 'cancelled' });
  });
});

describe('a set-up that fails', () => {
  test('does not let an agent start: the step, its exit code and its words are there', async () => {
    const repository = makeFailingSetupRepository(join(crew.root, 'setup'));
    const before = folderState(repository);
    const run = await crew.run(repository, crew.request('Set up', greet));
    await crew.settle(run.waitsFor, { verdict: 'approve' });
    const failed = await crew.session(run, (one) => one.state === 'START_FAILED');
    expect(failed.endReason).toBe('setup_failed');
    const asked = await attemptsUsedUp(run);
    expect(JSON.stringify(asked.detail.failures)).toContain('registry says no');
    expect(folderState(repository)).toEqual(before);
    await crew.settle(asked.id, { verdict: 'refuse' });
  });
});

describe.skipIf(!isRoot)('disks (needs root for its mounts)', () => {
  test('a disk that is full loses nothing that was acknowledged, says so, and the work goes on when there is room', async () => {
    const place = mount(['-t', 'tmpfs', '-o', 'size=48m', 'tmpfs']);
    const instance = createInstance({}, { home: join(place, 'home') });
    onTestFinished(() => instance.dispose());
    await instance.up();
    await instance.init();
    await instance.addAgent('turing', 'claude', 'author', scripted('follows-request'));
    const repository = makeMakeRepository(join(instance.root, 'repository'));
    const before = folderState(repository);
    const order = { repository, request: crew.request('Fill up', [['hang']]) };
    const filler = join(place, 'filler');
    fill(filler);
    const full = await instance.send('POST', '/api/runs', order);
    expect(full.status).toBeGreaterThanOrEqual(500);
    expect(full.body).toMatchObject({ code: expect.stringMatching(/disk|storage|full/) });
    expect(folderState(repository)).toEqual(before);
    expect((await instance.get('/api/projects')).items).toEqual([]);
    rmSync(filler);
    const done = await instance.send('POST', '/api/runs', order);
    expect(done.status).toBe(201);
    await instance.until('the author to work', async () =>
      (await instance.get('/api/sessions?limit=10')).items.some((one: { state: string }) => one.state === 'RUNNING'),
    );
    expect((await instance.get('/api/projects')).items).toHaveLength(1);
    const doctor = await instance.cli(['doctor', '--deep']);
    expect(doctor.json.checks.filter((check: { status: string }) => check.status === 'fail')).toEqual([]);
  });

  test('a home that is read-only is refused by name, and nothing is written', async () => {
    const place = mount(['-t', 'tmpfs', '-o', 'size=8m', 'tmpfs']);
    execFileSync('mount', ['-o', 'remount,ro', place]);
    const instance = createInstance();
    onTestFinished(() => instance.dispose());
    const home = join(place, 'home');
    const result = await instance.cli(['up'], { env: { ...instance.env, CHANTIER_HOME: home } });
    expect(result.code).toBe(1);
    expect(result.json.detail).toContain(home);
    expect(readdirSync(place)).toEqual([]);
  });
});

/** Writes a file until nothing more fits. */
function fill(file: string): void {
  const handle = openSync(file, 'w');
  try {
    for (const bytes of [1 << 20, 1 << 12, 1]) {
      for (;;) {
        try {
          writeSync(handle, Buffer.alloc(bytes));
        } catch {
          break;
        }
      }
    }
  } finally {
    closeSync(handle);
  }
}

function listProcesses(): string {
  return execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' });
}

/** Mounts on a folder below the crew's; unmounted after the test. */
function mount(words: string[]): string {
  const place = join(crew.root, `mount${readdirSync(crew.root).length}`);
  mkdirSync(place);
  execFileSync('mount', [...words, place]);
  onTestFinished(() => {
    execFileSync('umount', ['-l', place]);
  });
  return place;
}
