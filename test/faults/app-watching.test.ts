import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import type { SessionFolderView, TranscriptPage } from '../../src/wire/index.ts';
import { openWorld, type Step } from '../app/world.ts';

const evil = 'x\u001B]0;owned\u0007\u001B[2J\u202Ey';

/** A session that has said what `steps` say and then waits. */
async function setup(steps: Step[]) {
  const world = await openWorld();
  const run = await world.run(world.checkout(), 'Look around', { author: [[...steps, ['hang']]] });
  const author = await world.session(run, 'author', (one) => one.state === 'RUNNING');
  const page = async (...more: string[]): Promise<TranscriptPage> =>
    JSON.parse((await world.cli(['logs', author.workKey, '--json', ...more])).out) as TranscriptPage;
  const said = (text: string) =>
    world.until(text, async () => (await page()).entries.some((entry) => entry.text.includes(text)));
  return { ...world, author, page, said };
}

test('logs shows what was said, harmless for a terminal; pages by cursor; follows to the end', async () => {
  const world = await setup([
    ['say', 'first words\n'],
    ['sayBytes', Buffer.from(evil).toString('base64')],
    ['say', 'last words'],
  ]);
  await world.said('last words');
  const shown = await world.cli(['logs', world.author.workKey]);
  expect(shown.out).toContain('first words');
  expect(shown.out).toContain('x\\u{1b}]0;owned\\u{7}\\u{1b}[2J\\u{202e}y');
  // oxlint-disable-next-line no-control-regex
  expect(shown.out).not.toMatch(/[\u0000-\u0008\u000B-\u001F\u202E]/);

  const all = await world.page('--after', '0', '--limit', '2000', '--raw');
  const pages: string[] = [];
  for (let after = 0; ;) {
    const next = await world.page('--after', String(after), '--limit', '1', '--raw');
    if (next.entries.length === 0) break;
    pages.push(...next.entries.map((entry) => entry.text));
    after = next.next;
  }
  expect(pages).toEqual(all.entries.map((entry) => entry.text));

  let followed = '';
  const following = world.cli(['logs', world.author.workKey, '--all', '--follow'], {
    out: (text) => (followed += text),
  });
  await world.until('first page', async () => followed.includes('last words'));
  await world.app.sessions.stop(world.caller(), world.author.id);
  expect((await following).exitCode).toBe(0);
  expect((await world.page('--since', '1h')).ended).toBe(true);
  expect((await world.cli(['logs', 'nobody'])).exitCode).toBe(8);
  expect((await world.cli(['logs', world.author.workKey, '--generation', '7'])).exitCode).toBe(8);
  expect((await world.cli(['logs', world.author.workKey, '--since', 'soon'])).exitCode).toBe(2);
});

test('path names the work folder; open starts the editor of the operator in it, or says why not', async () => {
  const world = await setup([['write', 'note.txt', 'hello\n']]);
  const { workKey } = world.author;
  const path = (await world.cli(['path', workKey])).out.trim();
  await world.until('the note', async () => existsSync(join(path, 'note.txt')));
  const view = JSON.parse((await world.cli(['path', workKey, '--json'])).out) as SessionFolderView;
  expect(view).toMatchObject({ path, sessionId: world.author.id, branch: expect.stringContaining('chantier/turing/') });

  const without = await world.cli(['open', workKey]);
  expect([without.exitCode, without.err]).toEqual([2, expect.stringContaining(path)]);
  const editor = join(world.folder, 'bin', 'editor');
  mkdirSync(join(world.folder, 'bin'));
  writeFileSync(editor, `#!/bin/sh\necho "$@" >${join(world.folder, 'opened')}\n`, { mode: 0o700 });
  const opened = await world.cli(['open', workKey, '--json'], { env: { EDITOR: 'false', VISUAL: `${editor} --wait` } });
  expect(opened.exitCode).toBe(0);
  expect(readFileSync(join(world.folder, 'opened'), 'utf8')).toBe(`--wait ${path}\n`);
  expect((await world.cli(['open', workKey], { env: { EDITOR: 'false' } })).exitCode).toBe(1);
  expect((await world.cli(['open', workKey], { env: { EDITOR: editor, CHANTIER_RUN: 'x/1' } })).exitCode).toBe(9);
});
