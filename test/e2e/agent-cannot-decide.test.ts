import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { rights } from '../../src/wire/index.ts';
import { makeMakeRepository } from '../repositories/index.ts';
import { type Crew, openCrew, type Step } from './crew.ts';
import { sendHttp } from './http.ts';

vi.setConfig({ testTimeout: 90_000 });

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterAll(() => crew?.dispose());

/** Every route that decides or changes anything and is not an agent's own. */
const deciding = Object.entries(rights).filter(([route, right]) => {
  const isAgents = right.who.some((who) => who === 'author' || who === 'anyone');
  return !route.startsWith('GET ') && !isAgents;
});

const verdict = { verdict: 'approve', text: 'yes', decision: 'approve', act: 'approve', note: 'ok', reason: 'ok' };

describe('no agent can decide (design 4, G-20, X-3)', () => {
  test('from inside a session no deciding route has an effect, whatever token: each try is refused with an event', async () => {
    // A question of somebody else that is worth an answer.
    const victim = await crew.run(
      makeMakeRepository(join(crew.root, 'victim')),
      crew.request('Wait for a human', [
        ['write', 'token.txt', '{token}\n'],
        ['run', 'git', 'add', 'token.txt'],
        ['ask', 'May I?'],
        ['remove', 'token.txt'],
        ['write', 'greeting.txt', 'hello {answer}\n'],
        ['commit', 'As I was told'],
        ['done'],
      ]),
    );
    const question = await crew.decision(victim, 'escalation_answer');
    const { id: victimId } = await crew.session(victim);
    const stolen = readFileSync(join(crew.workFolder(await crew.session(victim)), 'token.txt'), 'utf8').trim();
    const before = await crew.events();

    const requests = deciding.map(([route]) => {
      const [method = '', pattern = ''] = route.split(' ');
      const path = pattern
        .replace('{decision}', question.id)
        .replace('{session}', victimId)
        .replace('{task}', victim.task.id)
        .replace('{repository}', victim.repositoryId)
        .replace('{setting}', 'sandbox')
        .replaceAll(/\{\w+\}/g, '1');
      return [method, path];
    });
    const tokens = [null, stolen, `${stolen.slice(0, -1)}x`];
    const tries: Step[] = [['httpEach', requests, verdict, tokens]];
    const run = await crew.run(
      makeMakeRepository(join(crew.root, 'tries')),
      crew.request('Try to decide', [...tries, ['writeStatuses', 'tried.json'], ['hang']]),
    );
    const tried = await crew.until('the tries', async () => {
      const file = join(crew.workFolder(await crew.session(run)), 'tried.json');
      return existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as number[]);
    });
    expect(tried).toHaveLength(requests.length * tokens.length);
    expect(tried.filter((status) => ![401, 403].includes(status))).toEqual([]);

    const after = (await crew.events()).slice(before.length);
    const { id } = await crew.session(run);
    const refused = after.filter((event) => event.kind === 'access.refused' && event.facts.door === 'bridge');
    for (const [route] of deciding) {
      const actors = refused.filter((event) => event.facts.route === route).map((event) => event.actor.id);
      expect(actors.toSorted(), route).toEqual([id, victimId, 'unknown-caller'].toSorted());
    }
    // Whatever token it showed, it came in by its own door; the other's token is refused as one of another door.
    expect(refused.every((event) => event.facts.door_session === id)).toBe(true);
    const shown = refused.filter((event) => event.actor.id === victimId);
    expect(shown.map((event) => event.facts.code)).toEqual(shown.map(() => 'wrong_door'));
    const acts = /^(decision\.settled|escalation\.answered|landing\.|access\.(unlocked|proof|logged)|setting\.|user\.)/;
    const decided = after.filter((event) => acts.test(event.kind) || event.actor.kind === 'operator');
    expect(decided).toEqual([]);
    expect(await crew.get(`/api/decisions/${question.id}`)).toMatchObject({ state: 'open' });
    // The token works at no other door.
    for (const door of [{ url: crew.url() }, { socket: join(crew.home, 'sock') }]) {
      const path = `/api/decisions/${question.id}/verdict`;
      const answer = await sendHttp({ ...door, method: 'PUT', path, body: verdict, token: stolen });
      expect(answer.body.code).toBe('wrong_door');
    }
    await crew.must(['stop', (await crew.session(run)).workKey]);
    await crew.settle(question.id, { verdict: 'respond', text: 'moon' });
    await crew.land(victim);
    // The door goes with its session, and what agents of older versions shared is not there.
    await crew.until('the doors of ended sessions to be gone', async () => {
      const left = readdirSync(join(crew.home, 'run/d'));
      return !left.some((name) => [victimId, id].map((one) => one.replaceAll('-', '')).includes(name));
    });
    expect(readdirSync(join(crew.home, 'run'))).not.toContain('bridge');
  });
});
