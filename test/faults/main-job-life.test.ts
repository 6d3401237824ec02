import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { type Crew, openCrew, type SessionFacts, type Step } from '../e2e/crew.ts';
import { commitAll, git, makeMakeRepository, writeFiles } from '../repositories/index.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterEach(() => crew.calm());
afterAll(() => crew?.dispose());

const greet = (text: string): Step[] => [
  ['write', 'greeting.txt', text],
  ['commit', 'Greet someone else'],
  ['done', 'greeted'],
];

function makeRepository(name: string): string {
  return makeMakeRepository(join(crew.root, name));
}

/** The sessions of a run's author, oldest first. */
async function authors(run: { task: { id: string } }): Promise<SessionFacts[]> {
  const all = await crew.get('/api/sessions?limit=500');
  return all.items
    .filter((one: SessionFacts) => one.taskId === run.task.id)
    .toSorted((a: SessionFacts, b: SessionFacts) => (a.id < b.id ? -1 : 1));
}

async function logOf(session: SessionFacts): Promise<string> {
  return JSON.stringify(await crew.get(`/api/sessions/${session.id}/transcript?limit=1000&raw=true`));
}

describe('the life of an author (design 7)', () => {
  test('changes that are wanted an hour after the report do not lose the conversation: its second turn mends them', async () => {
    // In phase 1 nothing starts: the review waits until the hour is over.
    const run = await crew.run(
      makeRepository('hour'),
      crew.request('Come back later', [['ask', 'Go?'], ...greet('hello FIXME\n')], greet('hello later\n')),
    );
    const question = await crew.decision(run, 'escalation_answer');
    await crew.send('PUT', '/api/settings/gate.phase', { value: 1 }, { proof: true });
    await crew.settle(question.id, { verdict: 'respond', text: 'go' });
    await crew.pullRequest(run);
    const first = await crew.session(run, (one) => one.state === 'DONE');
    await crew.advanceClock(3_600_000);
    const back = await crew.send('PUT', '/api/settings/gate.phase', { value: 3 }, { proof: true });
    expect(back.status).toBe(200);
    const offer = await crew.decision(run, 'landing', 60_000);
    const [, second] = await authors(run);
    expect(await logOf(second!)).toContain('turn 2 of this conversation');
    const at = (await crew.events('session.started')).map((event) => event.at);
    expect(Math.max(...at) - Math.min(...at)).toBeGreaterThan(3_500_000);
    expect(second!.id).not.toBe(first.id);
    expect((await crew.land(run)).id).toBe(offer.subject.id);
  });

  test('an author that dies of the feedback is resumed once, then a fresh one goes on with brief and findings (R-16, review decision 1)', async () => {
    const run = await crew.run(
      makeRepository('fresh'),
      crew.request('Die once', greet('hello FIXME\n'), [['dieOnce'], ...greet('hello again\n')]),
    );
    const landing = await crew.land(run);
    const [first, second, third] = await authors(run);
    expect([first?.state, second?.state, third?.state]).toEqual(['DONE', 'CRASHED', 'DONE']);
    expect(landing.commit).toMatch(/^[0-9a-f]{40}$/);
    const started = (await crew.events('session.started')).filter((event) => event.facts.task_id === run.task.id);
    expect(started.map((event) => event.facts.resumes)).toEqual([false, true, false]);
  });

  test('an author that dies of it twice does not go on for ever: a human gets it', async () => {
    const run = await crew.run(makeRepository('lost'), crew.request('Die always', greet('hello FIXME\n'), [['die']]));
    const review = await crew.decision(run, 'human_review', 60_000);
    expect(review.detail).toMatchObject({ reason: 'author_lost', last: { source: 'verdict' } });
    expect((await authors(run)).map((one) => one.state)).toEqual(['DONE', 'CRASHED', 'CRASHED']);
    await crew.settle(review.id, { verdict: 'refuse' });
    expect((await crew.get(`/api/tasks/${run.task.id}`)).status).toBe('paused');
  });

  test('a reviewer without a verdict does not count: it is reminded, replaced, and then a human reviews', async () => {
    const run = await crew.run(
      makeRepository('silent'),
      crew.request('Leave them SPEECHLESS', greet('hello SPEECHLESS\n')),
    );
    const review = await crew.decision(run, 'human_review', 90_000);
    expect(review.detail.reason).toBe('reviewers_failed');
    await crew.settle(review.id, { verdict: 'approve' });
    await crew.land(run);
  });

  test('an author that never reports is reminded twice; what it committed is then taken as its report', async () => {
    const run = await crew.run(
      makeRepository('mute'),
      crew.request('Forget to report', [
        ['write', 'greeting.txt', 'hello nobody\n'],
        ['commit', 'Unreported'],
      ]),
    );
    await crew.decision(run, 'landing', 60_000);
    const [author] = await authors(run);
    const log = await logOf(author!);
    expect(log).toContain('turn 3 of this conversation');
    expect(log).not.toContain('turn 4 of this conversation');
  });

  test('an author that ends with uncommitted files does not pass for done: the session fails and the work is saved', async () => {
    const run = await crew.run(makeRepository('heap'), crew.request('Leave a heap', [['write', 'heap.txt', 'heap\n']]));
    const failed = await crew.session(run, (one) => one.state === 'CRASHED');
    expect(failed.endReason).toBe('no_report');
    const forge = join(crew.home, 'forge', `${run.repositoryId}.git`);
    await crew.until('the heap to be saved', async () => {
      const refs = git(forge, 'for-each-ref', '--format=%(refname)', 'refs/chantier/rescue/')
        .split('\n')
        .filter(Boolean);
      return refs.some((ref) => git(forge, 'ls-tree', '-r', '--name-only', ref).includes('heap.txt'));
    });
    await crew.send('PATCH', `/api/tasks/${run.task.id}`, { status: 'cancelled' });
  });

  test('nothing delivered does not pass for done either: a human says whether it is', async () => {
    const run = await crew.run(makeRepository('nothing'), crew.request('Do nothing', [['done', 'nothing to do']]));
    const first = await crew.decision(run, 'nothing_delivered');
    expect((await crew.get(`/api/tasks/${run.task.id}`)).status).toBe('paused');
    await crew.settle(first.id, { verdict: 'refuse', note: 'look again' });
    const second = await crew.until('the second try to end', async () => {
      const open = await crew.get('/api/decisions?kind=nothing_delivered');
      return open.items.find((one: { projectId: string }) => one.projectId === run.project.id);
    });
    await crew.settle(second.id, { verdict: 'approve', note: 'right, nothing' });
    expect((await crew.get(`/api/tasks/${run.task.id}`)).status).toBe('done');
    expect(await authors(run)).toHaveLength(2);
  });

  test('five authors that wait for their human do not keep reviewers from working', async () => {
    const first = await crew.run(
      makeRepository('reviewed'),
      crew.request('Be reviewed', [['ask', 'Go?'], ...greet('hello FIXME\n')], greet('hello reviewed\n')),
    );
    const waiting = [];
    for (const name of ['w1', 'w2', 'w3', 'w4', 'w5']) {
      const steps: Step[] = [['ask', `What of ${name}?`], ...greet('hello {answer}\n')];
      waiting.push(await crew.run(makeRepository(name), crew.request(`Wait ${name}`, steps)));
    }
    // Five slots are taken; the sixth author starts as soon as the first has reported.
    const go = await crew.decision(first, 'escalation_answer');
    for (const run of waiting.slice(0, 4)) await crew.decision(run, 'escalation_answer', 60_000);
    await crew.settle(go.id, { verdict: 'respond', text: 'go' });
    await crew.decision(waiting[4], 'escalation_answer', 60_000);
    await crew.pullRequest(first, (pull) => pull.verdicts.length === 1 && pull.state === 'changes-requested');
    expect((await crew.get('/api/status')).quota).toMatchObject({ active: 5, max: 5 });
    const question = await crew.decision(waiting[0], 'escalation_answer');
    await crew.settle(question.id, { verdict: 'respond', text: 'w1' });
    await crew.decision(waiting[0], 'landing', 60_000);
    await crew.decision(first, 'landing', 60_000);
    expect((await crew.get('/api/status')).quota.active).toBe(4);
  });
});

describe('the base moves (design 6)', () => {
  test('a base that moved between offer and yes loses no commit: the same change lands on top of it', async () => {
    const repository = makeRepository('moved');
    const run = await crew.run(repository, crew.request('Be late', greet('hello late\n')));
    const offer = await crew.decision(run, 'landing');
    writeFiles(repository, { 'README.md': '# Edited meanwhile\n' });
    const own = commitAll(repository, 'By hand');
    const settled = await crew.settle(offer.id, { verdict: 'approve' });
    expect(settled.message).toMatch(/^Landed as/);
    expect(git(repository, 'log', '-1', '--format=%P', 'main')).toBe(own);
    expect(git(repository, 'show', 'main:greeting.txt')).toBe('hello late');
    const landings = await crew.get('/api/landings?limit=200');
    const ofRun = landings.items.filter((one: { repositoryId: string }) => one.repositoryId === run.repositoryId);
    expect(ofRun.map((one: { state: string }) => one.state).toSorted()).toEqual(['failed', 'landed']);
  });

  test('where the moved base makes another change of it, the yes does not hold: it is offered anew', async () => {
    const repository = makeRepository('another');
    const run = await crew.run(repository, crew.request('Greet twice', greet('hello world\nhello moon\n')));
    const offer = await crew.decision(run, 'landing');
    writeFiles(repository, { 'greeting.txt': 'hello you, world\n' });
    const own = commitAll(repository, 'By hand');
    const answer = await crew.send(
      'PUT',
      `/api/decisions/${offer.id}/verdict`,
      { verdict: 'approve' },
      { proof: true },
    );
    expect(answer.status).toBe(409);
    expect(git(repository, 'rev-parse', 'main')).toBe(own);
  });

  test('a change that conflicts with the base does not land: its author merges, and it is reviewed again', async () => {
    const repository = makeRepository('conflict');
    const run = await crew.run(
      repository,
      crew.request(
        'Collide',
        [['ask', 'Now?'], ...greet('hello theirs\n')],
        [
          ['run', 'git', 'fetch', '-q', 'origin'],
          ['run', 'git', 'merge', '-q', '-X', 'ours', '-m', 'Take both', 'origin/main'],
          ['done', 'merged'],
        ],
      ),
    );
    const question = await crew.decision(run, 'escalation_answer');
    writeFiles(repository, { 'greeting.txt': 'hello mine\n' });
    const own = commitAll(repository, 'By hand');
    await crew.settle(question.id, { verdict: 'respond', text: 'now' });
    const landing = await crew.land(run);
    const pull = await crew.pullRequest(run);
    expect(pull.verdicts).toHaveLength(2);
    expect(git(repository, 'merge-base', '--is-ancestor', own, landing.commit)).toBe('');
    expect(git(repository, 'show', 'main:greeting.txt')).toBe('hello theirs');
  });

  test('a base that cannot be merged with the landed one stops nothing silently: it is a decision with the command', async () => {
    const repository = makeRepository('diverged');
    const run = await crew.run(repository, crew.request('Land first', greet('hello landed\n')));
    await crew.decision(run, 'landing');
    writeFiles(repository, { 'README.md': 'not committed\n' });
    await crew.land(run);
    writeFiles(repository, { 'greeting.txt': 'hello by hand\n' });
    commitAll(repository, 'By hand, without the landed one');
    const next = await crew.run(repository, crew.request('Go on', greet('hello next\n')));
    const conflict = await crew.until('the base conflict', async () =>
      (await crew.get('/api/decisions?kind=base_conflict')).items.at(0),
    );
    expect(conflict.detail).toMatchObject({ files: ['greeting.txt'] });
    expect(conflict.detail.command).toContain('git');
    await crew.send('PATCH', `/api/tasks/${next.task.id}`, { status: 'cancelled' });
  });
});

describe('two clients at once (design 5)', () => {
  test('an answer and a yes given twice at the same moment have one effect; the other client is told', async () => {
    const repository = makeRepository('twice');
    const steps: Step[] = [['ask', 'Which?'], ...greet('hello {answer}\n')];
    const run = await crew.run(repository, crew.request('Ask once', steps));
    const question = await crew.decision(run, 'escalation_answer');
    const path = `/api/decisions/${question.id}/verdict`;
    const answers = await Promise.all(
      ['left', 'right'].map((text) => crew.send('PUT', path, { verdict: 'respond', text }, { proof: true })),
    );
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
    const offer = await crew.decision(run, 'landing');
    const yes = await Promise.all(
      [1, 2].map(() => crew.send('PUT', `/api/decisions/${offer.id}/verdict`, { verdict: 'approve' }, { proof: true })),
    );
    expect(yes.some(({ status }) => status === 200)).toBe(true);
    expect(git(repository, 'rev-list', '--count', 'main')).toBe('2');
    const winner = answers[0]!.status === 200 ? 'left' : 'right';
    expect(git(repository, 'show', 'main:greeting.txt')).toBe(`hello ${winner}`);
  });
});

describe('undo (design 6)', () => {
  test('a revert does not go past review and human: it lands as a change of its own and the task is open again', async () => {
    const repository = makeRepository('revert');
    const before = git(repository, 'rev-parse', 'main^{tree}');
    const run = await crew.run(repository, crew.request('Be undone', greet('hello undone\n'), [['sayHeard']]));
    const landing = await crew.land(run);
    const first = await crew.session(run);
    const reverted = await crew.send(
      'POST',
      `/api/landings/${landing.id}/reverts`,
      { reason: 'not wanted' },
      { proof: true },
    );
    expect(reverted.status).toBe(201);
    const pull = reverted.body;
    const offer = await crew.until('the offer of the revert', async () => {
      const view = await crew.get(`/api/pull-requests/${pull.id}`);
      return view.decisionId !== null && view.state === 'approved' && view;
    });
    await crew.settle(offer.decisionId, { verdict: 'approve' });
    await crew.until('the revert to have landed', async () => git(repository, 'rev-parse', 'main^{tree}') === before);
    const again = await crew.session(run, (one) => one.id !== first.id);
    expect(await crew.until('its brief', async () => (await logOf(again)).includes('not wanted'))).toBe(true);
    expect((await crew.get(`/api/projects/${run.project.id}`)).status).toBe('dev');
  });
});
