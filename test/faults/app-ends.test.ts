import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { commitAll, git, makeFailingSetupRepository, writeFiles } from '../repositories/index.ts';
import { deliver, judge, openWorld, type World } from '../app/world.ts';

const greets = deliver('greeting.txt', 'hello mars\n');
const reviewer = [judge('greeting.txt')];

function folderRows(world: World) {
  return world.ctx.store.read
    .selectFrom('work_folder')
    .select(['owner_key', 'branch', 'state', 'start_commit', 'rescue_refs'])
    .where('purpose', '=', 'author')
    .orderBy('created_at')
    .execute();
}

test('a task that is cancelled takes its pull request and offer along; nobody can land it any more (P3)', async () => {
  const world = await openWorld();
  const checkout = world.checkout();
  const run = await world.run(checkout, 'Greet', { author: [greets], reviewer });
  const offer = await world.decision(run, 'landing');
  mustOk(await world.app.work.updateTask(world.caller(), run.task.id, { status: 'cancelled' } as never));
  expect((await world.pull(run)).state).toBe('closed');
  const late = await world.app.decisions.settle(world.caller(), offer.id, { verdict: 'approve' });
  expect(late.ok).toBe(false);
  expect(git(checkout, 'rev-list', '--count', 'main')).toBe('1');
  const open = mustOk(await world.app.decisions.list(world.caller(), { limit: 10 }));
  expect(open.items.map((one) => one.kind)).toEqual(['nothing_delivered']); // of its job, which has no work left
});

test('cancelling ends the session that works on the task, and the reviewer of its change', async () => {
  const world = await openWorld();
  const checkout = world.checkout();
  const works = await world.run(checkout, 'Hang', { author: [[['hang']]] });
  const waits = await world.run(checkout, 'Greet', { author: [greets], reviewer: [[['hang']]] });
  await world.session(works, 'author', (one) => one.state === 'RUNNING');
  await world.session(waits, 'reviewer', (one) => one.state === 'RUNNING');
  for (const run of [works, waits])
    mustOk(await world.app.work.updateTask(world.caller(), run.task.id, { status: 'cancelled' } as never));
  await world.session(works, 'author', (one) => one.state === 'ABORTED' && one.endReason === 'work_cancelled');
  await world.session(waits, 'reviewer', (one) => one.state === 'ABORTED' && one.endReason === 'work_cancelled');
});

test('a crash keeps the work in a rescue ref of its own folder; the next attempt begins in another one (S-40)', async () => {
  const world = await openWorld();
  const run = await world.run(world.checkout(), 'Greet', {
    author: [[['write', 'greeting.txt', 'hello half\n'], ['die']]],
  });
  await world.session(run, 'author', (one) => one.state === 'CRASHED');
  await world.until('the rescue ref', async () => (await folderRows(world))[0]?.rescue_refs.includes('/rescue/'));
  await world.pass(60_000);
  const rows = await world.until('a second folder', async () => {
    const found = await folderRows(world);
    return found.length === 2 && found;
  });
  expect(new Set(rows.map((row) => row.branch)).size).toBe(2);
  const [half] = JSON.parse(rows[0]!.rescue_refs) as string[];
  const [{ id } = { id: '' }] = await world.ctx.store.read.selectFrom('repository').select('id').execute();
  expect(git(join(world.ctx.forge.folders.forge, `${id}.git`), 'show', `${half}:greeting.txt`)).toBe('hello half');
});

test('a task that is reopened after it landed gets its folder made anew at the new base and can be delivered again (L-4)', async () => {
  const world = await openWorld();
  const checkout = world.checkout();
  const run = await world.run(checkout, 'Greet', { author: [greets], reviewer });
  const offer = await world.decision(run, 'landing');
  mustOk(await world.app.decisions.settle(world.caller(), offer.id, { verdict: 'approve' }));
  await world.until('the task to be done', async () => {
    const task = mustOk(await world.app.work.showTask(world.caller(), run.task.id));
    return task.status === 'done';
  });
  await world.until('the folder to be gone', async () => (await folderRows(world))[0]?.state === 'removed');
  const [landed] = await folderRows(world);
  mustOk(await world.app.work.reopenTask(world.caller(), run.task.id, 'not yet'));
  const nothing = await world.decision(run, 'nothing_delivered');
  expect(nothing.subject.id).toBe(run.task.id);
  const rows = await folderRows(world);
  expect(rows).toHaveLength(1);
  expect(rows[0]?.start_commit).not.toBe(landed?.start_commit);
});

test('uncommitted work is in a snapshot before a task exists; what cannot be snapshotted makes none (issue 2)', async () => {
  const world = await openWorld();
  const checkout = world.checkout();
  writeFileSync(join(checkout, 'mine.txt'), 'mine\n');
  const run = await world.run(
    checkout,
    'Greet',
    { author: [[['run', 'cat', 'mine.txt'], ...greets]], reviewer: [[['hang']]] },
    { withChanges: true },
  );
  await world.pull(run);
  const task = await world.ctx.store.read
    .selectFrom('task')
    .select('base')
    .where('id', '=', run.task.id)
    .executeTakeFirstOrThrow();
  expect(task.base).toMatch(/^refs\/chantier\/changes\//);
  git(checkout, 'checkout', '-q', '-b', 'other');
  writeFiles(checkout, { 'greeting.txt': 'theirs\n' });
  commitAll(checkout, 'theirs');
  git(checkout, 'checkout', '-q', 'main');
  writeFiles(checkout, { 'greeting.txt': 'ours\n' });
  commitAll(checkout, 'ours');
  expect(() => git(checkout, 'merge', '-q', 'other')).toThrow();
  const refused = await world.app.work.run(world.caller(), {
    repository: checkout,
    request: 'Conflicted',
    withChanges: true,
  });
  expect(refused.ok).toBe(false);
  const tasks = await world.ctx.store.read.selectFrom('task').select('title').execute();
  expect(tasks.map((one) => one.title)).not.toContain('Conflicted');
});

test('a set-up that fails starts no agent: three tries with its words, then a human (S-29, L-18)', async () => {
  const world = await openWorld();
  const checkout = makeFailingSetupRepository(join(world.folder, 'broken'));
  const run = await world.run(checkout, 'Greet', { author: [greets] });
  for (const at of [1, 2, 3]) {
    await world.until(`try ${at}`, async () => {
      const tries = await world.sessions(run, 'author');
      return tries.length === at && tries.every((one) => one.state === 'START_FAILED');
    });
    await world.pass(60_000);
  }
  const asked = await world.decision(run, 'attempts_exhausted');
  expect(JSON.stringify(asked)).toContain('registry says no');
});
