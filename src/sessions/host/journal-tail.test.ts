import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { findLastLine, findTail } from './journal-tail.ts';
import { appendMark, findOffsetSince } from './time-marks.ts';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'chtail-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const write = (text: string): string => {
  writeFileSync(join(folder, 'out'), text);
  return join(folder, 'out');
};
const from = async (path: string, lines: number, maxBytes?: number): Promise<string> =>
  readFileSync(path)
    .subarray(await findTail(path, lines, maxBytes))
    .toString();

test('finds the last whole lines, fewer where there are fewer, and a line that is not ended belongs to none', async () => {
  expect(await from(write('a\nbb\nccc\n'), 2)).toBe('bb\nccc\n');
  expect(await from(write('a\nbb\nccc\n'), 9)).toBe('a\nbb\nccc\n');
  expect(await from(write('\n\n\n'), 1)).toBe('\n');
  expect(await from(write('a\nbb\nopen'), 1)).toBe('bb\nopen');
  expect(await from(write('open'), 3)).toBe('open');
  expect(await from(write(''), 3)).toBe('');
});

test('looks back over a bounded part only and never begins inside a line', async () => {
  const path = write(`${'x'.repeat(100)}\nbb\nccc\n`);
  expect(await from(path, 50, 20)).toBe('bb\nccc\n');
  expect(await from(write('y'.repeat(100)), 1, 20)).toBe('');
});

test('finds the newest line of a kind, else the first whole line of what it looked at', async () => {
  const path = write('{"a":1}\n{"s":1}\n{"a":2}\n{"s":2}\n{"a":3}\n');
  const rest = async (prefix: string, maxBytes: number): Promise<string> =>
    readFileSync(path)
      .subarray(await findLastLine(path, prefix, maxBytes))
      .toString();
  expect(await rest('{"s"', 1000)).toBe('{"s":2}\n{"a":3}\n');
  expect(await rest('{"s"', 12)).toBe('{"a":3}\n');
  expect(await rest('{"z"', 1000)).toMatch(/^\{"a":1\}/);
});

test('finds by time where to begin: never later than asked, whatever the clock did', async () => {
  const marks = join(folder, 'marks');
  expect(await findOffsetSince(marks, 0)).toBe(0);
  for (const [at, offset] of [
    [1000, 10],
    [6000, 60],
    [11_000, 110],
  ] as const)
    await appendMark(marks, at, offset);
  expect(await Promise.all([500, 1000, 5999, 6000, 99_000].map((at) => findOffsetSince(marks, at)))).toEqual([
    0, 10, 10, 60, 110,
  ]);
  await appendMark(marks, 2000, 160); // set back
  expect(await findOffsetSince(marks, 3000)).toBe(10);
});
