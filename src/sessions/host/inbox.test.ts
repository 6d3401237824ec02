import { mkdirSync, mkdtempSync, readFileSync, rmSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { filesOf } from './generation-files.ts';
import { Inbox } from './inbox.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'chantier-inbox-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const first = '{"id":1}';
const second = '{"id":2,"text":"é🦊"}';

test('appends whole frames in the order of the calls and tells where they lie', async () => {
  const files = filesOf(folder);
  const inbox = await Inbox.open(files);
  const places = await Promise.all([inbox.append(first), inbox.append(second)]);
  await inbox.close();
  expect(readFileSync(files.inbox, 'utf8')).toBe(`${first}\n${second}\n`);
  expect(places).toEqual([
    { start: 0, end: 9 },
    { start: 9, end: 9 + Buffer.byteLength(second) + 1 },
  ]);
});

test('completes a frame that was cut anywhere, once, and never writes one that had not begun (design 7)', async () => {
  const whole = Buffer.byteLength(`${first}\n${second}\n`);
  for (let cut = first.length + 1; cut <= whole; cut += 1) {
    const place = join(folder, String(cut));
    mkdirSync(place);
    const files = filesOf(place);
    const writer = await Inbox.open(files);
    await writer.append(first);
    await writer.append(second);
    await writer.close();
    truncateSync(files.inbox, cut);

    const next = await Inbox.open(files);
    const hadBegun = cut > first.length + 1;
    expect(readFileSync(files.inbox, 'utf8')).toBe(hadBegun ? `${first}\n${second}\n` : `${first}\n`);
    await next.append(first);
    await next.close();
    expect(readFileSync(files.inbox, 'utf8')).toBe(
      hadBegun ? `${first}\n${second}\n${first}\n` : `${first}\n${first}\n`,
    );
  }
});

test('ends a torn line that it does not know, so that nothing is glued to it', async () => {
  const files = filesOf(folder);
  writeFileSync(files.inbox, '{"half":');
  writeFileSync(files.inboxNext, '{"start":0,"length":99,"sha256":"of something else"}\n{"half":');
  const inbox = await Inbox.open(files);
  await inbox.append(first);
  await inbox.close();
  expect(readFileSync(files.inbox, 'utf8')).toBe(`{"half":\n${first}\n`);
});

test('refuses a frame with a newline in it', async () => {
  const inbox = await Inbox.open(filesOf(folder));
  expect(() => inbox.append('{\n}')).toThrow('newline');
  await inbox.close();
});
