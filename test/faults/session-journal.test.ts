import { statSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { tellSession } from '../../src/sessions/tell-session.ts';
import { readTranscript } from '../../src/sessions/transcript.ts';
import { caller } from '../../src/sessions/testing.ts';
import { supervisedWorld } from '../../src/sessions/supervisor/testing.ts';

const megabyte = 1024 * 1024;

it('a journal that grows for weeks does not fill the disk: what is old is freed, and adoption and transcript go on over the holes (sessions decision 2, sessions case 68)', async () => {
  const world = await supervisedWorld({
    firstPrompt: 'flood',
    settings: { journalKeepBytes: 4 * megabyte, cycleMs: 1_000 },
  });
  const id = await world.start('floods');
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the flood', 120_000);
  const journal = join(world.sessionsFolder, id, '1', 'out.ndjson');
  const { size } = statSync(journal);
  expect(size).toBeGreaterThan(25 * megabyte);
  await world.until(async () => statSync(journal).blocks * 512 < 15 * megabyte, 'the freeing', 60_000);
  await world.restart();
  mustOk(await world.store.tx((tx) => tellSession(tx, world.ctx, caller, { session: id, text: 'again', key: 'T' })));
  await world.until(async () => world.calls.turnsEnded.length === 2, 'a second turn after the adoption', 120_000);
  let [lines, from] = [0, 0];
  for (let hasMore = true; hasMore;) {
    const page = mustOk(await readTranscript(world.sessionsFolder, id, 1, { from, maxLines: 5_000 }));
    for (const line of page.lines) expect(line.text.includes('\0')).toBe(false);
    lines += page.lines.length;
    hasMore = page.has_more && page.next > from;
    from = page.next;
  }
  expect(lines).toBeGreaterThan(100);
  expect(world.faults).toEqual([]);
});
