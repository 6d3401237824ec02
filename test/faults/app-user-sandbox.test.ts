import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { createAgentDoors } from '../../src/server/index.ts';
import { deliver, judge, openWorld } from '../app/world.ts';

/** It takes root to become somebody else. */
const cannotRun =
  process.getuid?.() === 0 && existsSync('/usr/bin/setpriv') ? '' : ' (not run: no root, or no setpriv)';

/** Whether another user gets through to a socket; with the code of the refusal when not. */
function connectAs(uid: number, gid: number, socket: string): string {
  const program = `require('node:net').connect(${JSON.stringify(socket)}).once('connect', function () { console.log('in'); this.destroy(); }).once('error', (error) => console.log(error.code))`;
  const ids = ['--reuid', String(uid), '--regid', String(gid), '--clear-groups'];
  return execFileSync('/usr/bin/setpriv', [...ids, process.execPath, '-e', program], {
    encoding: 'utf8',
    cwd: '/',
  }).trim();
}

test.skipIf(cannotRun)(
  `with sandbox: user:<name> the main job is not stuck at its sockets: written, reviewed, mended, checked and landed by another user (X-4)${cannotRun}`,
  async () => {
    const world = await openWorld({ sandbox: 'user:nobody' });
    // The home stays closed; what leads to the work folders does not.
    chmodSync(world.folder, 0o711);
    expect(world.ctx.barrier.report).toMatchObject({ driver: 'user', holds: true });
    const author = [deliver('note.txt', 'FIXME\n'), deliver('note.txt', 'mended\n')];
    const run = await world.run(world.checkout(), 'Write', { author, reviewer: [judge('note.txt')] });
    const offer = await world.decision(run, 'landing');
    await world.app.decisions.settle(world.caller(), offer.id, { verdict: 'approve' });
    const landed = await world.pull(run, (pull) => pull.state === 'landed');
    expect(landed.checks).toMatchObject([{ status: 'passed' }]);
    expect(landed.verdicts.map(({ verdict }) => verdict)).toHaveLength(2);
  },
);

test.skipIf(cannotRun)(`no third user gets to the door of an agent that is another user${cannotRun}`, async () => {
  const world = await openWorld({ sandbox: 'user:nobody' });
  chmodSync(world.folder, 0o711);
  const run = await world.run(world.checkout(), 'Write', { author: [[['hang']]] });
  const session = await world.session(run, 'author', (one) => one.state === 'RUNNING');
  const owner = world.ctx.barrier.sandbox!.owner!;
  const door = await world.ctx.bridge.doors.open(session.id, owner.gid);
  const socket = join(door, 'sock');
  expect(connectAs(owner.uid, owner.gid, socket)).toBe('in');
  expect(connectAs(1, 1, socket)).toBe('EACCES');
  // Neither opened further nor replaced by who may enter.
  expect(statSync(door)).toMatchObject({ uid: 0, gid: owner.gid });
  expect(statSync(door).mode & 0o777).toBe(0o710);
  const asAgent = ['--reuid', String(owner.uid), '--regid', String(owner.gid), '--clear-groups'];
  expect(spawnSync('/usr/bin/setpriv', [...asAgent, 'rm', '-f', socket]).status).not.toBe(0);
  // The next server finds it again, and takes it away with its session.
  const next = createAgentDoors(world.ctx.bridge.runFolder);
  await next.restore([{ id: session.id, isLaunched: true }]);
  expect(existsSync(door)).toBe(true);
  await next.restore([]);
  expect(existsSync(door)).toBe(false);
});
