import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { refuse } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { addTasks, checkLedger, updateJob } from './index.ts';
import { claim, deliver, finish, moreJobs, operator, refusedCode, world } from './testing.ts';

eachStore((_dialect, open) => {
  it('finds nothing in a ledger that was only used', async () => {
    const { store } = await open();
    const made = await world(store, [
      { title: 'a' },
      { title: 'b', blocked_by: ['a'] },
      { title: 'c', repository_id: 'repo-1' },
      { title: 'd' },
    ]);
    await moreJobs(made, { codename: 'second-job', title: 'S', blocked_by: ['first-job'], tasks: [{ title: 'x' }] });
    await finish(store, made.ids.a ?? '');
    await deliver(store, made.ids.c ?? '');
    await claim(store, made.ids.d ?? '');
    expect(await checkLedger(store.read)).toEqual([]);
  });

  it('finds each fault after a raw write (L-39, decision 43)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a' }, { title: 'b' }, { title: 'c', repository_id: 'repo-1' }]);
    await claim(store, made.ids.b ?? '');
    await deliver(store, made.ids.c ?? '');
    const damages = [
      ['task_counter', `update task set open_blockers = 3 where title = 'a'`],
      ['job_counter', `update job set open_blockers = 1`],
      ['held_mark', `update task set held = 1 where title = 'a'`],
      ['doing_unheld', `update task set status = 'doing' where title = 'a'`],
      ['claim_without_work', `update task set status = 'todo' where title = 'b'`],
      ['delivery_without_work', `update task set status = 'paused' where title = 'c'`],
      ['open_task_in_ended_job', `update job set status = 'cancelled', ended_at = 1`],
      ['open_job_in_ended_project', `update project set status = 'test'`],
      ['job_not_ended', `update task set status = 'done', ended_at = 1`],
    ] as const;
    for (const [code, statement] of damages) {
      const found = await store.tx(async (tx) => {
        await sql.raw(statement).execute(tx.db);
        const faults = await checkLedger(tx.db);
        return refuse('invalid', faults.map((fault) => fault.code).join(' '), 'rolled back');
      });
      expect(found.refusal.code.split(' ')).toContain(code);
    }
    expect(await checkLedger(store.read)).toEqual([]);
  });

  it('refuses fields that only look like fields, and JSON that a database cannot keep', async () => {
    const { store } = await open();
    const made = await world(store);
    const add = (task: unknown) =>
      refusedCode(store, (tx) => addTasks(tx, { jobId: made.jobId, tasks: [task], actor: operator }));
    expect(await add(JSON.parse('{"title":"x","constructor":1}'))).toBe('validation_failed');
    expect(await add(JSON.parse('{"title":"x","__proto__":{"a":1}}'))).toBe('validation_failed');
    expect(await add({ title: 'x', key: 7 })).toBe('validation_failed');
    expect(await add({ title: 'a\u0000b' })).toBe('validation_failed');
    expect(await add({ title: 'a\u202Eb' })).toBe('validation_failed');
    expect(await add({ title: 'x', blocked_by: [0, -1, 1.5] })).toBe('validation_failed');
    const { version } = await made.job();
    const set = (context: unknown) =>
      refusedCode(store, (tx) => updateJob(tx, { jobId: made.jobId, version, changes: { context }, actor: operator }));
    expect(await set({ deep: ['a\u0000'] })).toBe('validation_failed');
    expect(await set({ 'a\u0000': 1 })).toBe('validation_failed');
    expect(await set([])).toBe('validation_failed');
    expect(await set({ deep: ['fine'] })).toBe('not refused');
  });
});
