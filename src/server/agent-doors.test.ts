import { existsSync, mkdirSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { type Answer, sendHttp } from '../../test/e2e/http.ts';
import { setupApi } from '../../test/server/api-world.ts';
import { createAgentDoors, type ServedDoors } from './agent-doors.ts';
import { callBound, changeBound } from './call-bounds.ts';
import { listenOnSocket, maxBridgeConnections } from './listen.ts';

const author = 'session-author';
const reviewer = 'session-reviewer';

/** A server with doors over a real API; `again` is the server after it was killed and started anew. */
async function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'chdoors-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const world = await setupApi();
  const floods: (string | undefined)[] = [];
  const serve = async (doors: ServedDoors): Promise<ServedDoors> => {
    await doors.serve(world.api, (sessionId) => floods.push(sessionId));
    onTestFinished(() => doors.stop());
    return doors;
  };
  const at = (door: string, token: string, route = 'PUT /api/agent/summary'): Promise<Answer> => {
    const [method = '', path = ''] = route.split(' ');
    const body = method === 'GET' ? undefined : { text: 'hello' };
    return sendHttp({ socket: join(door, 'sock'), method, path, body, token });
  };
  const operator = await listenOnSocket(world.api, { door: 'operator-socket' }, join(folder, 'own'), 0o600);
  onTestFinished(() => operator.stop());
  const atOperators = (): Promise<Answer> =>
    sendHttp({ socket: join(folder, 'own'), path: '/api/whoami', token: world.operatorToken });
  return { ...world, folder, floods, serve, at, atOperators, make: () => createAgentDoors(folder) };
}

describe('the door of a session (design 4)', () => {
  it('takes the token of its own session, and refuses that of another living one with an event that names who showed it', async () => {
    const { serve, make, at, tokens, refusals, reached } = await setup();
    const doors = await serve(make());
    const [mine, theirs] = [await doors.open(author), await doors.open(reviewer)];
    expect(mine).not.toBe(theirs);
    expect((await at(mine, tokens.author)).body.code).toBe('reached');
    const stolen = await at(theirs, tokens.author);
    expect([stolen.status, stolen.body.code]).toEqual([403, 'wrong_door']);
    const reading = await at(theirs, tokens.author, 'GET /api/whoami');
    expect([reading.status, reading.body.code]).toEqual([403, 'wrong_door']);
    expect(reached).toHaveLength(1);
    const events = await refusals();
    expect(events).toHaveLength(2);
    for (const event of events)
      expect(event).toMatchObject({ code: 'wrong_door', door: 'bridge', door_session: reviewer });
  });

  it('a flood with another’s token uses up nothing of the other’s share of events', async () => {
    const { serve, make, at, tokens, refusals } = await setup();
    const doors = await serve(make());
    const [mine, theirs] = [await doors.open(author), await doors.open(reviewer)];
    for (let i = 0; i < 130; i += 1) await at(theirs, tokens.author);
    expect(await refusals()).toHaveLength(120);
    await at(mine, tokens.author, 'PUT /api/decisions/some-id/verdict');
    expect((await refusals()).at(-1)).toMatchObject({ code: 'not_permitted', door_session: author });
  });

  it('is the same folder after the server died, so that what sandboxes have bound works again (X-3)', async () => {
    const { serve, make, at, tokens } = await setup();
    const first = await serve(make());
    const door = await first.open(author);
    const gone = await first.open(reviewer);
    const before = statSync(door).ino;
    // Nothing of the first server closes its doors in order: its sockets lie there, dead.
    const second = make();
    await second.restore([{ id: author, isLaunched: true }]);
    await serve(second);
    expect(statSync(door).ino).toBe(before);
    expect((await at(door, tokens.author)).body.code).toBe('reached');
    expect(existsSync(gone)).toBe(false);
  });

  it('opened before the server listens is served once it does', async () => {
    const { serve, make, at, tokens } = await setup();
    const doors = make();
    const door = await doors.open(author);
    expect(existsSync(join(door, 'sock'))).toBe(false);
    await serve(doors);
    expect((await at(door, tokens.author)).body.code).toBe('reached');
    expect(await doors.open(author)).toBe(door);
  });

  it('goes with its session, folder and all; the others stay', async () => {
    const { serve, make, at, tokens } = await setup();
    const doors = await serve(make());
    const [mine, theirs] = [await doors.open(author), await doors.open(reviewer)];
    await doors.close(author);
    await doors.close(author);
    expect(existsSync(mine)).toBe(false);
    expect((await at(theirs, tokens.reviewer, 'GET /api/whoami')).status).toBe(200);
  });

  it('refuses a name that could leave its folder', async () => {
    const doors = (await setup()).make();
    await expect(doors.open('../bridge')).rejects.toThrow(/cannot name a door/);
  });
});

describe('the shared door of older versions', () => {
  it('is served for living sessions that were launched with it and for no others, until the last of them ends', async () => {
    const { serve, make, at, tokens, folder } = await setup();
    const shared = join(folder, 'bridge');
    mkdirSync(shared);
    const before = statSync(shared).ino;
    const doors = make();
    await doors.restore([
      { id: author, isLaunched: true },
      { id: reviewer, isLaunched: false },
    ]);
    await serve(doors);
    expect(statSync(shared).ino).toBe(before);
    const own = await doors.open(reviewer);
    expect((await at(shared, tokens.author)).body.code).toBe('reached');
    expect((await at(shared, tokens.reviewer)).body.code).toBe('wrong_door');
    expect((await at(own, tokens.author)).body.code).toBe('wrong_door');
    await doors.close(author);
    expect(existsSync(shared)).toBe(false);
  });

  it('is left by a session that is launched again, and not made without need', async () => {
    const { serve, make, at, tokens, folder } = await setup();
    const doors = make();
    await doors.restore([
      { id: author, isLaunched: true },
      { id: reviewer, isLaunched: true },
    ]);
    await serve(doors);
    const shared = join(folder, 'bridge');
    const own = await doors.open(author);
    expect((await at(own, tokens.author)).body.code).toBe('reached');
    expect((await at(shared, tokens.author)).body.code).toBe('wrong_door');
    await doors.open(reviewer);
    expect(existsSync(shared)).toBe(false);
    const fresh = make();
    await fresh.restore([{ id: author, isLaunched: true }]);
    await serve(fresh);
    expect(existsSync(shared)).toBe(false);
  });
});

describe('one session takes nothing from the others (design 4)', () => {
  it('with 1,000 connections: another session and the operator are served', async () => {
    const { serve, make, at, tokens, atOperators } = await setup();
    const doors = await serve(make());
    const [mine, theirs] = [await doors.open(author), await doors.open(reviewer)];
    let dropped = 0;
    const sockets = Array.from({ length: 1000 }, (): Socket => {
      const socket = connect(join(mine, 'sock'));
      socket.on('error', () => {});
      socket.on('close', () => (dropped += 1));
      return socket;
    });
    onTestFinished(() => sockets.forEach((socket) => socket.destroy()));
    expect((await at(theirs, tokens.reviewer, 'GET /api/whoami')).status).toBe(200);
    expect((await atOperators()).status).toBe(200);
    await expect.poll(() => dropped, { timeout: 5000 }).toBe(1000 - maxBridgeConnections);
  });

  it('with a flood of reports: 429 with retry-after, one event, and the others write on', async () => {
    const { serve, make, at, tokens, refusals, reached } = await setup();
    const doors = await serve(make());
    const [mine, theirs] = [await doors.open(author), await doors.open(reviewer)];
    const started = performance.now();
    const answers: Answer[] = [];
    for (let i = 0; i < 400; i += 1) answers.push(await at(mine, tokens.author));
    const refused = answers.filter((answer) => answer.status === 429);
    const allowed = changeBound.burst + Math.ceil(((performance.now() - started) / 1000) * changeBound.perSecond);
    expect(reached.length).toBeLessThanOrEqual(allowed);
    expect(refused.length).toBe(400 - reached.length);
    expect(refused[0]!.body).toMatchObject({ code: 'too_many_calls', facts: { retry_after_s: 1 } });
    expect(await refusals()).toMatchObject([{ code: 'too_many_calls', door_session: author }]);
    // Reading is another matter, and so is another session.
    expect((await at(mine, tokens.author, 'GET /api/whoami')).status).toBe(200);
    expect((await at(theirs, tokens.reviewer, 'PUT /api/agent/status')).status).not.toBe(429);
  });

  it('with a flood of requests, whatever they ask: held and refused before they are read', async () => {
    const { serve, make, at, tokens, floods, atOperators } = await setup();
    const doors = await serve(make());
    const [mine, theirs] = [await doors.open(author), await doors.open(reviewer)];
    const started = performance.now();
    let passed = 0;
    const untilRefused = async (): Promise<Answer> => {
      for (;;) {
        const answer = await at(mine, 'nonsense', 'GET /api/whoami');
        if (answer.status === 429) return answer;
        passed += 1;
      }
    };
    const flood = Promise.all(Array.from({ length: 20 }, untilRefused));
    await expect.poll(() => floods, { timeout: 20_000 }).toEqual([author]);
    expect((await at(theirs, tokens.reviewer, 'GET /api/whoami')).status).toBe(200);
    expect((await atOperators()).status).toBe(200);
    expect((await flood)[0]!.body).toMatchObject({ code: 'too_many_calls' });
    const seconds = Math.ceil((performance.now() - started) / 1000);
    expect(passed).toBeLessThanOrEqual(callBound.burst + seconds * callBound.perSecond);
    // One connection with many requests at once is cut: what is held stays bounded.
    const socket = connect(join(mine, 'sock'));
    const cut = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => {});
    socket.write('GET /api/whoami HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(callBound.burst));
    await cut;
    expect(floods).toEqual([author]);
  }, 40_000);
});
