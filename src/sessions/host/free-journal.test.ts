import { appendFileSync, statSync, writeFileSync } from 'node:fs';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, plainCommand } from '../../../test/agents/agent-world.ts';
import { isRefused } from '../../kernel/index.ts';
import { canPunchHoles, JournalFreer } from './free-journal.ts';
import { openGeneration } from './generation.ts';
import type { Generation } from './generation.ts';

const megabyte = 1024 * 1024;
let world: AgentWorld;
let generation: Generation;
beforeEach(async () => {
  world = new AgentWorld();
  generation = await world.start(plainCommand(['/usr/bin/sleep', '60']));
});
afterEach(() => world.close());

/** Forty times a megabyte of chatter and a line that is needed. */
function fillJournal(): void {
  const chatter = `${'c'.repeat(1023)}\n`.repeat(1024);
  for (let part = 0; part < 40; part += 1) appendFileSync(generation.files.journal, `${chatter}needed ${part}\n`);
}

const isSpent = (line: Buffer): boolean => line[0] === 'c'.charCodeAt(0);
const wishes = { consumedTo: 30 * megabyte, keepBytes: 4 * megabyte, isSpent };
const usedBytes = (): number => statSync(generation.files.journal).blocks * 512;

/** Offsets and first words of what can be read. */
async function readAll(from = 0): Promise<{ start: number; end: number; head: string }[]> {
  const reader = await generation.readJournal(from);
  const lines = [];
  for (let line = await reader.next(); line; line = await reader.next())
    if (line.kind === 'line')
      lines.push({ start: line.start, end: line.end, head: line.bytes.toString('latin1', 0, 9) });
  await reader.close();
  return lines;
}

const isNeeded = ({ head }: { head: string }): boolean => head.startsWith('needed');

test('frees what is consumed, old and spent, and nothing else: every needed line and the newest part stay readable at their offsets (decision 2)', async () => {
  fillJournal();
  const before = await readAll();
  const size = generation.journalSize();
  const freed = await new JournalFreer(generation).free(wishes);
  expect(await canPunchHoles(generation.files.folder)).toBe(true);
  expect(freed).toBeGreaterThan(25 * megabyte);
  expect(generation.journalSize()).toBe(size);
  expect(usedBytes()).toBeLessThan(size - 25 * megabyte);
  const after = await readAll();
  expect(after.filter(isNeeded)).toEqual(before.filter(isNeeded));
  expect(after.filter((line) => line.start >= wishes.consumedTo)).toEqual(
    before.filter((line) => line.start >= wishes.consumedTo),
  );
  expect(after.every(({ head }) => !head.includes('\0'))).toBe(true);
  const [hole] = generation.freed();
  expect((await readAll(hole!.start + 5_000))[0]!.start).toBe(hole!.end);
});

test('a reader that was in the middle of what is freed goes on behind it, without a word of zeros (decision 2)', async () => {
  fillJournal();
  const reader = await generation.readJournal(2 * megabyte - ((2 * megabyte) % 1024), { chunkBytes: 700 });
  await reader.next();
  await new JournalFreer(generation).free(wishes);
  for (let line = await reader.next(); line && line.end < wishes.consumedTo; line = await reader.next())
    if (line.kind === 'line') expect(line.bytes.includes(0)).toBe(false);
  await reader.close();
});

test('a server killed between the note and the hole: the next one makes the hole (issue 4)', async () => {
  fillJournal();
  await generation.noteFreed([{ start: megabyte, end: 12 * megabyte }]);
  expect(usedBytes()).toBeGreaterThan(40 * megabyte);
  await new JournalFreer(generation).free(wishes);
  expect(usedBytes()).toBeLessThan(15 * megabyte);
});

test('what is not consumed, or is young, is not freed', async () => {
  fillJournal();
  expect(await new JournalFreer(generation).free({ ...wishes, consumedTo: 0 })).toBe(0);
  expect(await new JournalFreer(generation).free({ ...wishes, keepBytes: 64 * megabyte })).toBe(0);
  expect(generation.freed()).toEqual([]);
});

test('a folder that a newer program made is left alone and says so; the older one judges nothing of it (issue 4)', async () => {
  writeFileSync(generation.files.birth, JSON.stringify({ version: 99, run: generation.run, startedAtMs: 0 }));
  const opened = await openGeneration(generation.files.folder);
  expect(isRefused(opened) && opened.refusal.code).toBe('generation_newer');
  expect(isRefused(opened) && opened.refusal.message).toContain('its agent goes on');
});
