import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { type Crew, openCrew, type SessionFacts, type Step } from '../e2e/crew.ts';
import { descendants, isAlive } from '../e2e/processes.ts';
import { git, makeMakeRepository } from '../repositories/index.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterEach(() => crew.calm());
afterAll(() => crew?.dispose());

const hang: Step[] = [['write', 'half.txt', 'half\n'], ['say', 'now I hang'], ['hang']];

const deliver: Step[] = [['sayHeard'], ['write', 'greeting.txt', 'hello told\n'], ['commit', 'As told'], ['done']];

/** A run whose author hangs in its first turn and does `then` in each later one. */
async function runHanging(name: string, then: readonly Step[] = []) {
  const repository = makeMakeRepository(join(crew.root, name));
  const run = await crew.run(repository, crew.request(`Hang ${name}`, hang, then));
  const session = await crew.session(run, (one) => one.state === 'RUNNING');
  await crew.until('the turn to hang', async () => (await logOf(session)).includes('now I hang'));
  return { repository, run, session };
}

async function logOf(session: SessionFacts): Promise<string> {
  return JSON.stringify(await crew.get(`/api/sessions/${session.id}/transcript?limit=1000&raw=true`));
}

function rescued(repositoryId: string): string {
  const forge = join(crew.home, 'forge', `${repositoryId}.git`);
  const refs = git(forge, 'for-each-ref', '--format=%(refname)', 'refs/chantier/rescue/').split('\n').filter(Boolean);
  return refs.map((ref) => git(forge, 'ls-tree', '-r', '--name-only', ref)).join('\n');
}

describe('humans at the wheel (design 7)', () => {
  test('what a human tells does not get lost: it waits for the turn, or with --now ends it, and the work goes on with it', async () => {
    const { run, session } = await runHanging('told', deliver);
    const later = await crew.must(['tell', session.workKey, 'once you are ready']);
    expect(later.json.delivery).toBe('unconfirmed');
    const now = await crew.must(['tell', session.workKey, 'greet the told one', '--now']);
    expect(now.json.delivery).toBe('delivered');
    await crew.decision(run, 'landing', 60_000);
    expect(await logOf(session)).toContain('heard: ');
  });

  test('a paused session gets no prompt and loses none: they come after resume, to the same process', async () => {
    const { run, session } = await runHanging('paused', deliver);
    const paused = await crew.must(['pause', session.workKey]);
    expect(paused.json.state).toBe('PAUSED');
    await crew.must(['tell', session.workKey, 'while you were paused']);
    expect(await logOf(session)).not.toContain('while you were paused');
    expect((await crew.cli(['pause', session.workKey])).code).toBe(6);
    await crew.must(['resume', session.workKey]);
    await crew.decision(run, 'landing', 60_000);
    expect(await crew.session(run)).toMatchObject({ id: session.id, generation: 1, state: 'DONE' });
    expect(await logOf(session)).toContain('heard: ');
  });

  test('a stopped session does not start again by itself: ABORTED, its task paused, its work in a rescue ref', async () => {
    const { run, session } = await runHanging('stopped');
    const processes = descendants(session.pid!);
    const stopped = await crew.must(['stop', session.workKey, 'enough']);
    expect(stopped.json.state).toBe('ABORTED');
    await crew.until('its processes to end', async () => [session.pid!, ...processes].every((pid) => !isAlive(pid)));
    expect((await crew.get(`/api/tasks/${run.task.id}`)).status).toBe('paused');
    await crew.until('its work to be saved', async () => rescued(run.repositoryId).includes('half.txt'));
    await crew.must(['tell', session.workKey, 'hello?']).then(
      () => expect.unreachable('a stopped session was told something'),
      () => {},
    );
  });

  test('stop --all leaves nothing running after 5 s, saves the work, and nothing starts until it is undone', async () => {
    const { run, session } = await runHanging('halt');
    const other = await runHanging('halt2');
    const processes = [session, other.session].flatMap((one) => [one.pid!, ...descendants(one.pid!)]);
    const halted = await crew.must(['stop', '--all']);
    expect(halted.json.durationMs).toBeLessThan(5_000);
    expect(processes.filter(isAlive)).toEqual([]);
    expect(halted.json.stopped).toHaveLength(2);
    for (const one of halted.json.stopped) expect(one.savedRefs, one.workKey).not.toEqual([]);
    expect(rescued(run.repositoryId)).toContain('half.txt');
    const refused = await crew.cli(['run', 'not now', '--repo', join(crew.root, 'halt')]);
    expect(refused).toMatchObject({ code: 6, json: { code: 'halted' } });
    expect((await crew.must(['status'])).json.halted).toBe(true);
    await crew.must(['stop', '--go-on']);
    expect((await crew.get(`/api/tasks/${run.task.id}`)).status).toBe('paused');
  });

  test('a server that goes down and comes up does not end agents: down names them, the same process goes on', async () => {
    const { run, session } = await runHanging('down', deliver);
    const down = await crew.must(['down']);
    expect(down.json.goOn).toMatchObject([{ workKey: session.workKey }]);
    expect(isAlive(session.pid!)).toBe(true);
    await crew.up();
    expect(await crew.session(run)).toMatchObject({ id: session.id, pid: session.pid, state: 'RUNNING' });
    await crew.must(['tell', session.workKey, 'go on', '--now']);
    await crew.land(run);
  });

  test('down --stop-agents leaves no process behind and loses no work', async () => {
    const { run, session } = await runHanging('ends');
    const processes = [session.pid!, ...descendants(session.pid!)];
    const down = await crew.must(['down', '--stop-agents']);
    expect(down.json.stopped).toMatchObject([{ workKey: session.workKey }]);
    expect(processes.filter(isAlive)).toEqual([]);
    expect(rescued(run.repositoryId)).toContain('half.txt');
    await crew.up();
    expect((await crew.session(run)).state).toBe('ABORTED');
  });
});
