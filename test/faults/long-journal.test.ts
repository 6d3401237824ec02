import { appendFileSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { readTranscript } from '../../src/sessions/index.ts';

test('a journal of 130 MB is read page by page in bounded memory, its end at once (sessions case 68)', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chlong-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  mkdirSync(join(folder, 's', '1'), { recursive: true });
  const journal = join(folder, 's', '1', 'out.ndjson');
  const block = Array.from({ length: 1000 }, (_, at) => `${JSON.stringify({ at, text: 'ä'.repeat(500) })}\n`).join('');
  for (let written = 0; written < 130e6; written += Buffer.byteLength(block)) appendFileSync(journal, block);
  // One line that no page can hold.
  appendFileSync(journal, `${'z'.repeat(3 * 1024 * 1024)}\n{"last":true}\n`);

  const began = performance.now();
  const end = mustOk(await readTranscript(folder, 's', 1, { tail: 1 }));
  expect(end.lines.map((line) => line.text)).toEqual(['{"last":true}']);
  expect(performance.now() - began).toBeLessThan(1000);

  global.gc?.();
  const before = process.memoryUsage().rss;
  let highest = 0;
  let lines = 0;
  let oversized = 0;
  for (let from = 0, more = true; more;) {
    const page = mustOk(await readTranscript(folder, 's', 1, { from, maxLines: 2000 }));
    lines += page.lines.length;
    oversized += page.lines.filter((line) => line.text === '').length;
    highest = Math.max(highest, process.memoryUsage().rss - before);
    from = page.next;
    more = page.has_more;
  }
  expect([lines % 1000, oversized]).toEqual([2, 1]);
  expect(highest).toBeLessThan(200e6);
}, 60_000);
