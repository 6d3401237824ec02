import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { packageFolder } from '../e2e/built-package.ts';
import { type Crew, openCrew, type Step } from '../e2e/crew.ts';
import { watchEvents } from '../e2e/event-stream.ts';
import { descendants, isAlive, startOf } from '../e2e/processes.ts';
import { git, makeMakeRepository } from '../repositories/index.ts';

const rounds = process.env.CHANTIER_TEST_FULL === '1' ? 12 : 2;
const random = makeRandom(Number(process.env.CHANTIER_TEST_SEED ?? Date.now() % 1_000_000));

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterAll(() => crew?.dispose());

describe('deaths in the main job (design 5 and 7, S-40 to S-48)', () => {
  test('a server killed while a question is open loses neither question nor agent: the same pid goes on and the change lands', async () => {
    const repository = makeMakeRepository(join(crew.root, 'question'));
    const run = await crew.run(
      repository,
      crew.request('Greet whom I say', [
        ['ask', 'Whom?'],
        ['write', 'greeting.txt', 'hello {answer}\n'],
        ['commit', 'Greet {answer}'],
        ['done'],
      ]),
    );
    const question = await crew.decision(run, 'escalation_answer');
    const before = await crew.session(run);
    const started = startOf(before.pid!);
    await crew.kill();
    expect(isAlive(before.pid!)).toBe(true);
    await crew.up();
    expect(await crew.session(run)).toMatchObject({ id: before.id, pid: before.pid, generation: 1 });
    await crew.settle(question.id, { verdict: 'respond', text: 'mars' });
    const landing = await crew.land(run);
    expect(startOf(before.pid!) ?? started).toBe(started);
    const sessions = await crew.get('/api/sessions?limit=200');
    expect(sessions.items.filter((one: { taskId: string }) => one.taskId === run.task.id)).toHaveLength(1);
    expect(git(repository, 'show', `${landing.commit}:greeting.txt`)).toBe('hello mars');
  });

  test('an agent killed with -9 is CRASHED on the stream within 1 s; its task is todo again and its work in a rescue ref', async () => {
    const repository = makeMakeRepository(join(crew.root, 'crash'));
    const run = await crew.run(
      repository,
      crew.request('Half a greeting', [
        ['write', 'greeting.txt', 'hello half\n'],
        ['commit', 'Half of it'],
        ['write', 'rest.txt', 'not committed\n'],
        ['say', 'now I hang'],
        ['hang'],
      ]),
    );
    const session = await crew.session(run, (one) => one.state === 'RUNNING');
    await crew.until('the half to be there', async () => {
      const page = await crew.get(`/api/sessions/${session.id}/transcript?raw=true`);
      return JSON.stringify(page).includes('now I hang');
    });
    const events = await watchEvents(crew.home);
    const [agent] = descendants(session.pid!, 'follows-request.mjs').slice(-1);
    const killedAt = performance.now();
    process.kill(agent!, 'SIGKILL');
    const crashed = await events.next((event) => event.kind === 'session.moved' && event.facts.to === 'CRASHED');
    expect(crashed.seenAt - killedAt).toBeLessThan(1_000);
    events.close();
    const task = await crew.get(`/api/tasks/${run.task.id}`);
    expect(task).toMatchObject({ status: 'todo', attempts: 1 });
    const forge = join(crew.home, 'forge', `${run.repositoryId}.git`);
    const saved = await crew.until('the work to be saved', async () => {
      const refs = git(forge, 'for-each-ref', '--format=%(refname)', 'refs/chantier/rescue/');
      const all = refs.split('\n').filter(Boolean);
      return all.some((ref) => git(forge, 'ls-tree', '-r', '--name-only', ref).includes('rest.txt')) && all;
    });
    const all = saved.map((ref) => git(forge, 'show', `${ref}:greeting.txt`));
    expect(all).toContain('hello half');
    const cancelled = await crew.send('PATCH', `/api/tasks/${run.task.id}`, { status: 'cancelled' });
    expect(cancelled.body).toMatchObject({ status: 'cancelled' });
  });
});

describe('nothing torn, nothing twice (S-32, design 6 and 7)', () => {
  test('an answer is not torn and not given twice by servers that are killed while they write it', async () => {
    const counter = join(packageFolder, 'test/agents/counts-answers.mjs');
    await crew.addAgent('lovelace', 'claude', 'author', [counter]);
    for (let round = 0; round < rounds * 2; round += 1) {
      const repository = makeMakeRepository(join(crew.root, `torn${round}`));
      const run = await crew.run(repository, `Count answers ${round}`, { agent: 'lovelace' });
      const question = await crew.decision(run, 'escalation_answer', 60_000);
      const session = await crew.session(run);
      const text = 'ä'.repeat(4_000);
      const settling = crew.settle(question.id, { verdict: 'respond', text }).catch(() => undefined);
      await new Promise((later) => setTimeout(later, random() * 150));
      await crew.kill();
      await settling;
      await crew.up();
      const after = await crew.get(`/api/decisions/${question.id}`);
      if (after.state === 'open') await crew.settle(question.id, { verdict: 'respond', text });
      const said = await crew.until('the count', async () => {
        const log = await crew.get(`/api/sessions/${session.id}/transcript?limit=1000&raw=true`);
        return /answers\W+(\d+)\W+tornLines\W+(\d+)\W+length\W+(\d+)/.exec(JSON.stringify(log)) ?? undefined;
      });
      expect(said.slice(1)).toEqual(['1', '0', '4000']);
      await crew.must(['stop', session.workKey]);
    }
  });

  test('a frame of 12 MB does not stop the work that follows it, over a kill of the server', async () => {
    const repository = makeMakeRepository(join(crew.root, 'much'));
    const steps: Step[] = [
      ['sayMuch', 12 * 1024 * 1024],
      ['ask', 'Heard?'],
      ['write', 'greeting.txt', 'hello {answer}\n'],
      ['commit', 'After much'],
      ['done'],
    ];
    const run = await crew.run(repository, crew.request('Say much', steps), { agent: 'turing' });
    const question = await crew.decision(run, 'escalation_answer', 60_000);
    await crew.kill();
    await crew.up();
    await crew.settle(question.id, { verdict: 'respond', text: 'much' });
    await crew.land(run);
    expect(git(repository, 'show', 'main:greeting.txt')).toBe('hello much');
  });

  test('servers killed at random points of review and landing land a change exactly once, and the store stays whole', async () => {
    for (let round = 0; round < rounds; round += 1) {
      const repository = makeMakeRepository(join(crew.root, `often${round}`));
      const base = git(repository, 'rev-parse', 'main');
      const steps: Step[] = [['write', 'greeting.txt', 'hello FIXME\n'], ['commit', 'First'], ['done']];
      const mend: Step[] = [['write', 'greeting.txt', 'hello often\n'], ['commit', 'Second'], ['done']];
      const run = await crew.run(repository, crew.request(`Land often ${round}`, steps, mend), { agent: 'turing' });
      const isDone = async () => (await crew.get(`/api/tasks/${run.task.id}`)).status === 'done';
      for (let kills = 0; kills < 40 && !(await isDone()); kills += 1) {
        const killAt = Date.now() + 200 + random() * 2_500;
        while (Date.now() < killAt) await sayYes(run, killAt);
        await crew.kill();
        await crew.up();
      }
      await crew.until('it to be done', async () => (await sayYes(run, Date.now() + 1_000), await isDone()), 90_000);
      const commits = git(repository, 'log', '--format=%H %(trailers:key=Chantier-Landing,valueonly)', `${base}..main`);
      const forge = join(crew.home, 'forge', `${run.repositoryId}.git`);
      expect(git(forge, 'rev-list', '--count', `${base}..main`)).toBe('1');
      await crew.until(
        'the checkout to follow',
        async () => git(repository, 'rev-list', '--count', `${base}..main`) === '1',
      );
      expect(commits.split('\n').filter(Boolean).length).toBeLessThanOrEqual(1);
      expect(git(repository, 'status', '--porcelain')).toBe('');
      const landings = await crew.get('/api/landings?limit=500');
      const landed = landings.items.filter(
        (one: { repositoryId: string; state: string }) =>
          one.repositoryId === run.repositoryId && one.state === 'landed',
      );
      expect(landed).toHaveLength(1);
    }
    const doctor = await crew.cli(['doctor', '--deep']);
    expect(doctor.json.checks.filter((check: { status: string }) => check.status === 'fail')).toEqual([]);
    expect((await crew.must(['audit', 'verify'])).json.ok).toBe(true);
  });
});

/** Says yes to what is offered now, if anything is; a server that dies meanwhile is no failure. */
async function sayYes(run: { project: { id: string } }, until: number): Promise<void> {
  const open = await crew.get('/api/decisions?limit=200');
  const offer = open.items.find(
    (one: { kind: string; projectId: string }) => one.kind === 'landing' && one.projectId === run.project.id,
  );
  const wait = new Promise((later) => setTimeout(later, Math.max(0, Math.min(50, until - Date.now()))));
  const given = offer ? crew.settle(offer.id, { verdict: 'approve' }).catch(() => undefined) : wait;
  await Promise.race([given, new Promise((later) => setTimeout(later, Math.max(0, until - Date.now())))]);
}

/** Numbers between 0 and 1 that follow from the seed. */
function makeRandom(state: number): () => number {
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}
