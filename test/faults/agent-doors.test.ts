import { existsSync, readdirSync, readFileSync, renameSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { type Crew, openCrew, type RunIds, type Step } from '../e2e/crew.ts';
import { makeMakeRepository } from '../repositories/index.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterEach(() => crew.calm());
afterAll(() => crew?.dispose());

const doorsOf = (): string[] => readdirSync(join(crew.home, 'run/d'));
const doorName = (id: string): string => id.replaceAll('-', '');

/** A run whose author does these steps in its sandbox. */
function begin(name: string, steps: readonly Step[]): Promise<RunIds> {
  return crew.run(makeMakeRepository(join(crew.root, name)), crew.request(name, steps));
}

/** Asks, and says what it heard. */
const askAndGreet: Step[] = [['ask', 'Whom?'], ['write', 'heard.txt', 'hello {answer}\n'], ['hang']];

const heardBy = async (run: RunIds): Promise<string> => {
  const file = join(crew.workFolder(await crew.session(run)), 'heard.txt');
  return crew.until('the answer to arrive', async () => existsSync(file) && readFileSync(file, 'utf8'));
};

/** The numbers that an author wrote of its requests. */
const statusesOf = async (run: RunIds): Promise<number[]> => {
  const file = join(crew.workFolder(await crew.session(run)), 'tried.json');
  return crew.until('the tries', async () => existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as number[]));
};

describe('one door for each session (design 4)', () => {
  test('another session’s living token acts for nobody at one’s own door, and each try is an event with both names', async () => {
    const victim = await begin('victim', [['write', 'token.txt', '{token}\n'], ['ask', 'May I?'], ['hang']]);
    const question = await crew.decision(victim, 'escalation_answer');
    const { id: victimId } = await crew.session(victim);
    const leaked = readFileSync(join(crew.workFolder(await crew.session(victim)), 'token.txt'), 'utf8').trim();
    const calls: [string, string, unknown][] = [
      ['PUT', '/api/agent/status', { text: 'I am somebody else' }],
      ['POST', '/api/agent/questions', { text: 'Shall I push?' }],
      ['PUT', '/api/agent/completion', { summary: 'done' }],
      ['GET', '/api/agent/questions/latest?waitMs=0', undefined],
      ['GET', '/api/whoami', undefined],
    ];
    const thief = await begin('thief', [
      ...calls.map(([method, path, body]): Step => ['http', method, path, body ?? null, leaked]),
      ['http', 'GET', '/api/whoami', null],
      ['writeStatuses', 'tried.json'],
      ['hang'],
    ]);
    expect(await statusesOf(thief)).toEqual([...calls.map(() => 403), 200]);
    const { id: thiefId } = await crew.session(thief);
    const refused = (await crew.events('access.refused')).filter((event) => event.facts.code === 'wrong_door');
    expect(refused).toHaveLength(calls.length);
    for (const event of refused)
      expect(event).toMatchObject({ actor: { kind: 'session', id: victimId }, facts: { door_session: thiefId } });
    const open = await crew.get('/api/decisions?kind=escalation_answer&limit=100');
    expect(open.items.map((one: { id: string }) => one.id)).toEqual([question.id]);
    expect(doorsOf().toSorted()).toEqual([victimId, thiefId].map(doorName).toSorted());
  });

  test('two agents at once outlive a server killed with questions open: the answers arrive by the doors of the next one (X-3, S-48)', async () => {
    const runs = [await begin('first', askAndGreet), await begin('second', askAndGreet)];
    const questions = await Promise.all(runs.map((run) => crew.decision(run, 'escalation_answer')));
    await crew.kill();
    await crew.up();
    for (const [index, name] of ['mars', 'venus'].entries())
      await crew.settle(questions[index].id, { verdict: 'respond', text: name });
    expect(await heardBy(runs[0]!)).toBe('hello mars\n');
    expect(await heardBy(runs[1]!)).toBe('hello venus\n');
    const ids = await Promise.all(runs.map(async (run) => (await crew.session(run)).id));
    await crew.calm();
    await crew.until('their doors to be gone', async () => !doorsOf().some((name) => ids.map(doorName).includes(name)));
  });

  test('an agent that an older version launched with the shared folder goes on after the upgrade, and the folder goes with it', async () => {
    const run = await begin('older', askAndGreet);
    const question = await crew.decision(run, 'escalation_answer');
    const { id } = await crew.session(run);
    await crew.kill();
    // What its sandbox has bound is now the folder that the older version shared out.
    const shared = join(crew.home, 'run/bridge');
    renameSync(join(crew.home, 'run/d', doorName(id)), shared);
    await crew.up();
    await crew.settle(question.id, { verdict: 'respond', text: 'pluto' });
    expect(await heardBy(run)).toBe('hello pluto\n');
    expect(doorsOf()).not.toContain(doorName(id));
    await crew.calm();
    await crew.until('the shared folder to be gone', async () => !existsSync(shared));
  });

  test('1,000 connections and a flood of reports from one sandbox: bounded, and another session and the operator are served', async () => {
    const flooder = await begin('flooder', [
      ['reportOften', 400],
      ['writeStatuses', 'tried.json'],
      ['connectOften', 1000],
      ['say', 'connected'],
      ['hang'],
    ]);
    const statuses = await statusesOf(flooder);
    expect(statuses.filter((status) => status === 200).length).toBeLessThan(200);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    const { id } = await crew.session(flooder);
    const own = (await crew.events()).filter((event) => event.actor.id === id);
    expect(own.length).toBeLessThan(220);
    const told = own.filter((event) => event.kind === 'access.refused' && event.facts.code === 'too_many_calls');
    expect(told).toHaveLength(1);
    const other = await begin('other', askAndGreet);
    const question = await crew.decision(other, 'escalation_answer');
    await crew.settle(question.id, { verdict: 'respond', text: 'saturn' });
    expect(await heardBy(other)).toBe('hello saturn\n');
  });
});

test('without a sandbox each session has its door too: it asks, outlives the server, and the door goes with it', async () => {
  const bare = await openCrew({ CHANTIER_SANDBOX: 'none' });
  try {
    const run = await bare.run(makeMakeRepository(join(bare.root, 'bare')), bare.request('bare', askAndGreet));
    if (run.waitsFor) await bare.settle(run.waitsFor, { verdict: 'approve' });
    const question = await bare.decision(run, 'escalation_answer');
    const session = await bare.session(run);
    const door = join(bare.home, 'run/d', doorName(session.id));
    expect(existsSync(join(door, 'sock'))).toBe(true);
    await bare.kill();
    await bare.up();
    await bare.settle(question.id, { verdict: 'respond', text: 'moon' });
    const file = join(bare.workFolder(session), 'heard.txt');
    await bare.until('the answer', async () => existsSync(file) && readFileSync(file, 'utf8') === 'hello moon\n');
    await bare.calm();
    await bare.until('the door to be gone', async () => !existsSync(door));
  } finally {
    await bare.dispose();
  }
});
