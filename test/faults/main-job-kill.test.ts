import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Crew, openCrew } from '../e2e/crew.ts';
import { watchEvents } from '../e2e/event-stream.ts';
import { descendants, isAlive, startOf } from '../e2e/processes.ts';
import { git, makeMakeRepository } from '../repositories/index.ts';

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
      const page = await crew.get(`/api/sessions/${session.id}/log`);
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
