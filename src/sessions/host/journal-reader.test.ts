import { appendFileSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import * as fc from 'fast-check';
import { afterEach, beforeEach, expect, test } from 'vitest';

import { JournalReader } from './journal-reader.ts';
import type { JournalLine } from './journal-reader.ts';

let folder: string;
let path: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chantier-journal-'));
  path = join(folder, 'out.ndjson');
  writeFileSync(path, '');
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function readAll(reader: JournalReader): Promise<JournalLine[]> {
  const lines: JournalLine[] = [];
  for (let line = await reader.next(); line; line = await reader.next()) lines.push(line);
  return lines;
}

const textsOf = (lines: JournalLine[]): string[] =>
  lines.map((line) => (line.kind === 'line' ? line.bytes.toString('utf8') : 'oversized'));

test('gives the same lines whatever the pieces in which they were written and read', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(
        fc.string({ unit: 'grapheme' }).map((text) => text.replaceAll('\n', ' ')),
        { maxLength: 12 },
      ),
      fc.integer({ min: 1, max: 9 }),
      fc.integer({ min: 1, max: 7 }),
      async (lines, chunkBytes, pieceBytes) => {
        writeFileSync(path, '');
        const reader = await JournalReader.open(path, 0, { chunkBytes });
        const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''));
        const read: JournalLine[] = [];
        for (let at = 0; at < bytes.length; at += pieceBytes) {
          appendFileSync(path, bytes.subarray(at, at + pieceBytes));
          read.push(...(await readAll(reader)));
        }
        await reader.close();
        expect(textsOf(read)).toEqual(lines);
        expect(reader.consumed).toBe(bytes.length);
        let end = 0;
        for (const line of read) {
          expect(line.start).toBe(end);
          end = line.end;
        }
      },
    ),
    { numRuns: 40 },
  );
});

test('goes on from a stored offset', async () => {
  writeFileSync(path, 'one\ntwo\nthree\n');
  const first = await JournalReader.open(path);
  const line = await first.next();
  await first.close();
  const second = await JournalReader.open(path, line!.end);
  expect(textsOf(await readAll(second))).toEqual(['two', 'three']);
  await second.close();
});

test('passes a line over that is longer than the bound, with bounded memory, and goes on behind it', async () => {
  writeFileSync(path, `short\n${'x'.repeat(10_000)}\nnext\n`);
  const reader = await JournalReader.open(path, 0, { maxLineBytes: 1_000, chunkBytes: 256 });
  const lines = await readAll(reader);
  expect(textsOf(lines)).toEqual(['short', 'oversized', 'next']);
  expect(lines[1]).toMatchObject({ start: 6, end: 6 + 10_001 });
  await reader.close();
});

test('keeps the beginning of a line until its end has come', async () => {
  writeFileSync(path, '{"a":');
  const reader = await JournalReader.open(path);
  expect(await reader.next()).toBeUndefined();
  expect(reader.rest().toString()).toBe('{"a":');
  expect(reader.consumed).toBe(0);
  appendFileSync(path, '1}\n');
  expect(textsOf(await readAll(reader))).toEqual(['{"a":1}']);
  await reader.close();
});
