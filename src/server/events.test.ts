import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { type EventSource, eventSource, setupApi } from '../../test/server/api-world.ts';
import { listenOnSocket, maxBridgeConnections } from './listen.ts';

/** A log-in ends after so long without a request (design 4). */
const logInIdleMs = 2 * 60 * 60 * 1000;

/** Reads an event stream piece by piece. */
function reader(answer: Response) {
  const stream = answer.body!.getReader();
  const decoder = new TextDecoder();
  let text = '';
  return {
    /** Everything up to and with the first place where `pattern` matches. */
    async until(pattern: RegExp): Promise<string> {
      for (;;) {
        const match = pattern.exec(text);
        if (match) {
          const end = match.index + match[0].length;
          const taken = text.slice(0, end);
          text = text.slice(end);
          return taken;
        }
        const { done, value } = await stream.read();
        if (done) throw new Error(`the stream ended after: ${text}`);
        text += decoder.decode(value, { stream: true });
      }
    },
    async ended(): Promise<boolean> {
      for (;;) if ((await stream.read()).done) return true;
    },
    cancel: () => stream.cancel(),
  };
}

async function setup(source: EventSource & { add(sessionId?: string): void } = eventSource()) {
  const world = await setupApi({ events: source });
  const follow = async (as: 'operator' | 'operator-cli' | 'author', headers: Record<string, string> = {}) =>
    reader(await world.send('GET /api/events', { as, headers: { accept: 'text/event-stream', ...headers } }));
  return { ...world, source, follow };
}

describe('the event stream', () => {
  it('replays what came after Last-Event-ID, then goes on live, without a gap or a repetition', async () => {
    const { source, follow } = await setup();
    for (let i = 0; i < 250; i += 1) source.add();
    const stream = await follow('operator', { 'last-event-id': '3' });
    const replay = await stream.until(/id: 250\n.*\n\n/);
    source.add();
    source.add();
    const live = await stream.until(/id: 252\n.*\n\n/);
    const ids = [...`${replay}${live}`.matchAll(/^id: (\d+)$/gm)].map((match) => Number(match[1]));
    expect(ids).toEqual(Array.from({ length: 249 }, (_, i) => i + 4));
  });

  it('without an id starts now', async () => {
    const { source, follow } = await setup();
    source.add();
    const stream = await follow('operator-cli');
    await stream.until(/: connected\n\n/);
    source.add();
    expect(await stream.until(/id: \d+\n/)).toBe('id: 2\n');
  });

  it.each([
    ['above the head', '99'],
    ['no number', 'abc'],
  ])('says reset for an id %s, and goes on at the head', async (_name, id) => {
    const { source, follow } = await setup();
    source.add();
    const stream = await follow('operator', { 'last-event-id': id });
    expect(await stream.until(/data: .*\n\n/)).toContain('id: 1\nevent: reset\ndata: {"oldest":1,"head":1}\n\n');
    source.add();
    expect(await stream.until(/id: \d+\n/)).toBe('id: 2\n');
  });

  it('says reset for an id below what is kept', async () => {
    const source = Object.assign(eventSource(), { oldest: 5 });
    const { follow } = await setup(source);
    for (let i = 0; i < 8; i += 1) source.add();
    expect(await (await follow('operator', { 'last-event-id': '2' })).until(/data: .*\n\n/)).toContain('event: reset');
    expect(await (await follow('operator', { 'last-event-id': '4' })).until(/data: .*\n\n/)).toContain('id: 5\ndata:');
  });

  it('shows an agent its own session only, whatever it asks for', async () => {
    const { source, follow, send } = await setup();
    source.add('session-other');
    source.add('session-author');
    source.add();
    const stream = await follow('author', { 'last-event-id': '0' });
    const text = await stream.until(/id: 2\n.*\n\n/);
    expect(text).not.toContain('session-other');
    const page = await send('GET /api/events?session=session-other', { as: 'author' });
    const { items } = (await page.json()) as { items: { sessionId: string }[] };
    expect(items.map((item) => item.sessionId)).toEqual(['session-author']);
  });

  it('ends when the server stops, and lets go of a client that has left', async () => {
    const { source, follow, stopping } = await setup();
    const left = await follow('operator');
    await left.until(/: connected\n\n/);
    const stream = await follow('operator');
    await stream.until(/: connected\n\n/);
    expect(source.listeners.size).toBe(2);
    await left.cancel();
    source.add();
    await stream.until(/id: 1\n/);
    source.add();
    await stream.until(/id: 2\n/);
    expect(source.listeners.size).toBe(1);
    stopping.abort();
    expect(await stream.ended()).toBe(true);
    expect(source.listeners.size).toBe(0);
  });

  it('needs a log-in', async () => {
    const { send } = await setup();
    expect((await send('GET /api/events', { headers: { accept: 'text/event-stream' } })).status).toBe(401);
  });
});

describe('the agents’ door', () => {
  it('gives a session two streams, and the place back when one ends; others are not counted', async () => {
    const { send, follow } = await setup();
    const headers = { accept: 'text/event-stream' };
    const [first] = [await follow('author'), await follow('author')];
    const third = await send('GET /api/events', { as: 'author', headers });
    expect([third.status, await third.json()]).toMatchObject([429, { code: 'too_many_open' }]);
    expect(third.headers.get('retry-after')).toBe('1');
    expect((await send('GET /api/events', { as: 'reviewer', headers })).status).toBe(200);
    for (let i = 0; i < 5; i += 1)
      expect((await send('GET /api/events', { as: 'operator', headers })).status).toBe(200);
    await first.cancel();
    await expect.poll(async () => (await send('GET /api/events', { as: 'author', headers })).status).toBe(200);
  });

  it('takes a bounded number of connections, and the other doors go on', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'chantier-doors-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const { api } = await setupApi();
    const bridge = await listenOnSocket(api, { door: 'bridge' }, join(folder, 'bridge'), 0o666);
    const own = await listenOnSocket(api, { door: 'operator-socket' }, join(folder, 'own'), 0o600);
    onTestFinished(async () => {
      for (const socket of sockets) socket.destroy();
      await Promise.all([bridge.stop(), own.stop()]);
    });
    let dropped = 0;
    const sockets = Array.from({ length: maxBridgeConnections + 3 }, () => {
      const socket = connect(join(folder, 'bridge'));
      socket.on('error', () => {});
      socket.on('close', () => (dropped += 1));
      return socket;
    });
    await expect.poll(() => dropped, { timeout: 5000 }).toBe(3);
    const operator = connect(join(folder, 'own'));
    sockets.push(operator);
    operator.write('GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n');
    const [answer] = (await once(operator, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1\.1 \d/);
  });
});

describe('a stream whose right ends', () => {
  it('ends after log-out, and following keeps no log-in alive', async () => {
    const world = await setupApi({ events: eventSource(), recheckMs: 20 });
    const headers = { accept: 'text/event-stream' };
    const stream = reader(await world.send('GET /api/events', { as: 'operator', headers }));
    const session = reader(await world.send('GET /api/events', { as: 'author', headers }));
    await stream.until(/: connected/);
    await session.until(/: connected/);
    world.clock.advance(logInIdleMs - 1);
    const usesBefore = await world.store.read.selectFrom('console_session').select('last_used_at').execute();
    await new Promise((resolve) => setTimeout(resolve, 60));
    expect(await world.store.read.selectFrom('console_session').select('last_used_at').execute()).toEqual(usesBefore);
    world.clock.advance(2);
    expect(await stream.ended()).toBe(true);
    world.tokens.author = 'another generation';
    expect(await session.ended()).toBe(true);
  });
});
