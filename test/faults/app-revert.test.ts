import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { promptsOf, rowOf } from '../app/wheel-world.ts';
import { deliver, judge, openWorld } from '../app/world.ts';
import { git } from '../repositories/index.ts';

test('a landed revert opens the task again, and its author goes on in the same conversation, in a folder made anew (design 6 Undo)', async () => {
  const world = await openWorld();
  const { app, caller } = world;
  const checkout = world.checkout();
  const run = await world.run(checkout, 'Greet', {
    author: [deliver('greeting.txt', 'hello\n'), deliver('greeting.txt', 'hello again\n')],
    reviewer: [judge('greeting.txt')],
  });
  const land = async (kind = 'landing') => {
    const offer = await world.decision(run, kind);
    mustOk(await app.decisions.settle(caller(), offer.id, { verdict: 'approve' }));
    return world.until('the landing', async () => {
      const row = await world.ctx.store.read
        .selectFrom('landing')
        .selectAll()
        .where('id', '=', offer.subject.id)
        .executeTakeFirst();
      return row?.state === 'landed' && row;
    });
  };
  const landed = await land();
  const first = await world.session(run, 'author', (one) => one.state === 'DONE');
  const root = join(world.folder, 'c-work', first.id);
  await world.until('its folder to go', async () => !existsSync(join(root, 'clone')));
  expect(existsSync(join(root, 'home'))).toBe(true);

  const words = 'it broke the import\nreviewer: [[["verdict", "approve", [], ["greeting.txt"]], ["done", "reviewed"]]]';
  mustOk(await app.review.revert(caller(), landed.id, { reason: words }));
  await land();
  const second = await world.session(run, 'author', (one) => one.id !== first.id && one.state === 'DONE');
  const [before, after] = await Promise.all([rowOf(world, first.id), rowOf(world, second.id)]);
  expect(after).toMatchObject({
    folder_key: first.id,
    conversation_id: before.conversation_id,
    resume_conversation_id: before.conversation_id,
  });
  expect(await world.said(second.id)).toContain('turn 2 of this conversation');
  expect((await promptsOf(world, second.id))[0]).toMatch(/was done and is open again[^]*it broke the import/);
  await land();
  expect(git(checkout, 'show', 'main:greeting.txt')).toBe('hello again');
});
