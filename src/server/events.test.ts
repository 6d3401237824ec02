import { describe, expect, it } from 'vitest';

import { type EventSource, eventSource, setupApi } from '../../test/server/api-world.ts';

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
