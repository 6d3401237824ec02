import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { windowBytes } from './journal-windows.ts';
import { SearchPace } from './pace.ts';
import { type JournalSearch, searchJournal } from './search-journal.ts';
import { parseWords } from './search-words.ts';

function setup(content: string | Buffer = '') {
  const sessionsFolder = mkdtempSync(join(tmpdir(), 'chsearch-'));
  onTestFinished(() => rmSync(sessionsFolder, { recursive: true, force: true }));
  const folder = join(sessionsFolder, 's', '1');
  mkdirSync(folder, { recursive: true });
  const journal = join(folder, 'out.ndjson');
  writeFileSync(journal, content);
  const name = { sessionsFolder, sessionId: 's', generation: 1 };
  /** All hits, `limit` a call, as far as `calls` go. */
  const search = async (request: string, { limit = 100, sinceMs }: { limit?: number; sinceMs?: number } = {}) => {
    const hits: JournalSearch['hits'] = [];
    const passed = { tooLong: 0, freed: 0, bytes: 0 };
    let before: JournalSearch['next'] = null;
    do {
      const pace = new SearchPace();
      const found: JournalSearch = mustOk(
        await searchJournal(name, parseWords(request), { before, limit, sinceMs, pace }),
      );
      expect(found.hits.length).toBeLessThanOrEqual(limit);
      hits.push(...found.hits);
      passed.tooLong += found.tooLong;
      passed.freed += found.freed;
      passed.bytes += pace.bytes;
      before = found.next;
    } while (before);
    return { hits, ...passed };
  };
  return { folder, journal, search, append: (text: string | Buffer) => appendFileSync(journal, text) };
}

const chunk = (text: string, kind = 'agent_message_chunk'): string =>
  `${JSON.stringify({ jsonrpc: '2.0', method: 'session/update', params: { update: { sessionUpdate: kind, content: { type: 'text', text } } } })}\n`;
const claude = (text: string): string =>
  `${JSON.stringify({ type: 'assistant', message: { content: [{ type: 'text', text }] } })}\n`;
const noise = `${JSON.stringify({ jsonrpc: '2.0', id: 1, error: { code: -32601, message: 'no ping' } })}\n`;

test('finds words that stand in pieces of one message, not across messages, the newest first', async () => {
  const world = setup(
    chunk('first mes') +
      noise +
      chunk('sage, nee') +
      chunk('dle') +
      chunk('alone', 'agent_thought_chunk') +
      claude('needle two'),
  );
  const { hits } = await world.search('NEEDLE');
  expect(hits.map(({ kind, excerpt }) => [kind, excerpt])).toEqual([
    ['agent', 'needle two'],
    ['agent', 'first message, needle'],
  ]);
  expect(hits[1]?.start).toBe(0);
  expect((await world.search('needle alone')).hits).toEqual([]);
});

test('gives each text once over windows and pages of any size, and looks at each byte about once', async () => {
  const filler = claude('x'.repeat(5000));
  const world = setup();
  // Texts of several pieces lie across the edges of windows.
  for (let at = 0; at < 900; at += 1)
    world.append(at % 45 === 0 ? chunk(`hit ${at} nee`) + noise.repeat(200) + chunk('dle') + filler : filler);
  const expected = Array.from({ length: 20 }, (_, at) => `hit ${(19 - at) * 45} needle`);
  for (const limit of [1, 3, 100]) {
    const { hits, bytes } = await world.search('needle', { limit });
    expect(hits.map(({ excerpt }) => excerpt)).toEqual(expected);
    if (limit === 100) expect(bytes).toBeLessThan(7e6);
  }
});

test('a transcript made to break it is read as data: lines without end, broken characters, sequences, frames that are none (sessions case 68)', async () => {
  const world = setup(claude('old needle'));
  world.append(`${'needle '.repeat((12 * windowBytes) / 7)}\n`);
  world.append(Buffer.concat([Buffer.from([0xff, 0xc3, 0x28]), Buffer.from(' needle broken\n')]));
  world.append('\u001B[2J\u001B]0;evil\u0007nee\u001B[0mdle \u202Edrawn\n');
  world.append('{"jsonrpc":"2.0","method":"session/update","params":{"update": needle torn}\n');
  world.append(
    `{"type":"assistant","message":{"content":[{"type":"tool_use","name":"needle","input":${'['.repeat(2e5)}${']'.repeat(2e5)}}]}}\n`,
  );
  world.append(`${JSON.stringify({ pty: 'out', text: `${'\r'.repeat(400_000)} needle returns` })}\n`);
  world.append('needle that is still being wri');
  const { hits, tooLong } = await world.search('needle');
  const expected = [
    'needle returns',
    '"name":"needle"',
    'needle torn',
    'needle drawn',
    '( needle broken',
    'old needle',
  ];
  expect(hits.map(({ excerpt }) => excerpt)).toEqual(expected.map((part) => expect.stringContaining(part)));
  // oxlint-disable-next-line no-control-regex -- they must not be there
  for (const { excerpt } of hits) expect(excerpt).not.toMatch(/[\u0000-\u001F\u007F-\u009F\u202A-\u202E]/);
  expect(Math.abs(tooLong - 12 * windowBytes)).toBeLessThan(windowBytes);
}, 20_000);

test('one message without end is looked at in parts, each byte about once', async () => {
  const world = setup(chunk('needle begins'));
  for (let at = 0; at < 20; at += 1) world.append(chunk(`word${at} `.repeat(20)).repeat(1000));
  const { hits, bytes } = await world.search('needle');
  expect(hits.map(({ start }) => start)).toEqual([0]);
  expect(bytes).toBeLessThan(10e6);
  expect((await world.search('word7 word8')).hits).toHaveLength(1);
});

test('what was freed is passed over and counted; what was there by when is told by the marks (sessions decision 2)', async () => {
  const before = claude('needle before');
  const hole = '\0'.repeat(3 * windowBytes);
  const world = setup(before + hole + claude('needle after'));
  const range = [before.length, before.length + hole.length];
  writeFileSync(join(world.folder, 'freed.json'), JSON.stringify({ version: 1, ranges: [range] }));
  writeFileSync(join(world.folder, 'marks'), `1000 ${before.length}\n2000 ${range[1]}\n`);
  const { hits, freed } = await world.search('needle');
  expect(hits.map(({ excerpt, at }) => [excerpt, at])).toEqual([
    ['needle after', null],
    ['needle before', 1000],
  ]);
  expect(freed).toBe(hole.length);
  expect((await world.search('needle', { sinceMs: 2500 })).hits).toHaveLength(1);
});

test('refuses a journal that is not there; an empty one holds nothing', async () => {
  const world = setup();
  expect((await world.search('needle')).hits).toEqual([]);
  rmSync(world.folder, { recursive: true });
  await expect(world.search('needle')).rejects.toThrow(/not there/);
});

/** Lines of 1 MiB that cost the most, each in its own way. */
const hostile = (() => {
  const size = windowBytes - 400;
  const filled = (unit: string, bytes = size): string => unit.repeat(Math.floor(bytes / Buffer.byteLength(unit)));
  const half = size / 2 - 20;
  const frame = (update: string): string => `{"jsonrpc":"2.0","method":"session/update","params":{"update":${update}}}`;
  return {
    'nested deep': `{"jsonrpc":"2.0","a":${filled('[', half)}${filled(']', half)}}`,
    'a plan of nothing': frame(`{"sessionUpdate":"plan","entries":[${filled('{},').slice(0, -1)}]}`),
    'small texts': `{"type":"assistant","message":{"content":[${filled('{"type":"text","text":"a"},').slice(0, -1)}]}}`,
    'begun sequences': filled('\u001B['),
    'one long text': chunk(filled('word ')),
    'nothing but newlines': filled('\n'),
  };
})();

test.each(Object.entries(hostile))(
  'a line of 1 MiB holds nobody up for more than 25 ms: %s (sessions case 68)',
  async (_, line) => {
    const world = setup(`${line}\n${claude('a needle after it')}`);
    const delays: number[] = [];
    // The best of some tries: what other programs of the machine do is not what is measured.
    for (let tries = 0; tries < 6 && Math.min(...delays, Infinity) > 25; tries += 1) {
      const delay = monitorEventLoopDelay({ resolution: 1 });
      delay.enable();
      await new Promise((resolve) => setTimeout(resolve, 5));
      delay.reset();
      expect((await world.search('needle')).hits).toHaveLength(1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      delay.disable();
      delays.push(delay.max / 1e6);
    }
    expect(Math.min(...delays)).toBeLessThanOrEqual(25);
  },
);
