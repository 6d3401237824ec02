import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { judge, openWorld } from '../app/world.ts';
import { git } from '../repositories/index.ts';

test('an agent whose work folder vanished does not stay running (sessions case 20)', async () => {
  const world = await openWorld();
  const { app, caller } = world;
  const checkout = world.checkout();
  const run = await world.run(checkout, 'Greet mars', {
    author: [[['ask', 'Which planet?']], [['done', 'done']], []],
    reviewer: [judge('greeting.txt')],
  });
  const first = await world.session(run, 'author', (one) => one.state === 'ESCALATED');
  rmSync(join(world.folder, 'c-work', first.id, 'clone'), { recursive: true, force: true });
  mustOk(await app.sessions.respond(caller(), first.workKey, 'Mars.'));
  const ended = await world.session(run, 'author', (one) => one.id === first.id && one.endedAt !== null);
  expect(ended).toMatchObject({ state: 'CRASHED', endReason: 'no_report' });
  expect(git(checkout, 'rev-list', '--count', 'main')).toBe('1');
});
