import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { type FieldSet, jobFields, managedColumns, projectFields, taskFields } from './fields.ts';
import { updateJob, updateProject, updateTask } from './index.ts';
import { agents, operator, world } from './testing.ts';

const hard = 'first line\nsecond | "third"\t\'quoted\', `ticked`; --not a comment\n\n  $(echo) ${x} \\n é 漢 🙂\nlast';

eachStore((dialect, open) => {
  it('keeps multi-line text with separators and quotes through create, update and read (L-64)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', description: hard, request: hard }]);
    expect(await made.task('a')).toMatchObject({ description: hard, request: hard });
    const changes = { mission_brief: hard, preprod_test_plan: hard, current_focus: hard, notes: hard };
    const project = await made.project();
    const update = { projectId: made.projectId, version: project.version, changes, actor: operator };
    mustOk(await store.tx((tx) => updateProject(tx, update)));
    expect(await made.project()).toMatchObject(changes);
    const steps = { next_action: hard, current_task: hard, blockers: hard, context: { text: hard } };
    const job = await made.job();
    mustOk(
      await store.tx((tx) =>
        updateJob(tx, { jobId: made.jobId, version: job.version, changes: steps, actor: operator }),
      ),
    );
    expect(await made.job()).toMatchObject({ next_action: hard, current_task: hard, blockers: hard });
    expect(JSON.parse((await made.job()).context_json)).toEqual({ text: hard });
    const withCarriage = { description: 'a\r\nb' };
    const task = await made.task('a');
    mustOk(
      await store.tx((tx) =>
        updateTask(tx, { taskId: task.id, version: task.version, changes: withCarriage, actor: operator }),
      ),
    );
    expect((await made.task('a')).description).toBe('a\nb');
  });

  it('refuses a second edit from the same version, and keeps the earlier text of the first (decision 45)', async () => {
    const { store } = await open();
    const made = await world(store, [{ title: 'a', description: 'before' }]);
    const { id: taskId, version } = await made.task('a');
    const edit = (changes: unknown) => store.tx((tx) => updateTask(tx, { taskId, version, changes, actor: operator }));
    const both = await Promise.all([edit({ description: 'one' }), edit({ description: 'two' })]);
    expect(both.filter((result) => result.ok)).toHaveLength(1);
    expect(both.find((result) => !result.ok)).toMatchObject({
      refusal: { code: 'stale_version', facts: { version: version + 1, seen: version } },
    });
    const texts = await store.read.selectFrom('ledger_text').selectAll().execute();
    expect(texts).toMatchObject([{ kind: 'earlier', field: 'description', text: 'before', subject_id: taskId }]);
    expect(await made.events()).toEqual(['task.updated']);
  });

  it('writes nothing and tells nothing when nothing changes', async () => {
    const { store } = await open();
    const made = await world(store);
    const { id: taskId, version, title } = await made.task('a');
    mustOk(await store.tx((tx) => updateTask(tx, { taskId, version, changes: { title }, actor: operator })));
    expect((await made.task('a')).version).toBe(version);
    expect(await made.events()).toEqual([]);
  });

  it('makes estimate and model anew from the stored row, and never overwrites explicit ones (L-35, decision 20)', async () => {
    const { store } = await open();
    const made = await world(store, [
      { title: 'a', tokens_estimated: 100 },
      { title: 'b', model: 'sonnet' },
    ]);
    const edit = async (title: string, changes: unknown) => {
      const { id: taskId, version } = await made.task(title);
      return mustOk(await store.tx((tx) => updateTask(tx, { taskId, version, changes, actor: operator })));
    };
    expect(await edit('a', { priority: 'P0' })).toMatchObject({ model_recommended: 'high', tokens_estimated: 100 });
    expect(await edit('a', { priority: 'P2', tokens_estimated: 1500 })).toMatchObject({ model_recommended: 'medium' });
    const estimated = await edit('a', { tokens_estimated: null, description: 'x'.repeat(4000) });
    expect(estimated).toMatchObject({ estimate_source: 'estimator', model_recommended: 'high' });
    expect(await edit('b', { priority: 'P0', tokens_estimated: 90_000 })).toMatchObject({
      model_recommended: 'medium',
      model_source: 'explicit',
    });
    expect(await edit('b', { model_recommended: null })).toMatchObject({
      model_recommended: 'high',
      model_source: 'rule',
    });
  });

  it('asks for client and agents when a scope is set later, and collects every fault (decision 16)', async () => {
    const { store } = await open();
    await agents(store, 'turing');
    const made = await world(store, [{ title: 'a', assignee: 'turing' }]);
    const { version } = await made.project();
    const update = (changes: unknown) =>
      store.tx((tx) => updateProject(tx, { projectId: made.projectId, version, changes, actor: operator }));
    const codes = async (changes: unknown): Promise<string[]> => {
      const result = await update(changes);
      const faults = result.ok ? [] : (result.refusal.facts?.faults ?? []);
      return (faults as { code: string }[]).map((fault) => fault.code);
    };
    expect(await codes({ scope: 'client' })).toEqual(['client_required', 'too_few_agents']);
    expect(await codes({ title: '', status: 'done', priority: 'P7' })).toEqual([
      'empty',
      'unknown_field',
      'unknown_choice',
    ]);
    expect(await codes({})).toEqual(['empty']);
    const raw = sql`update project set scope = 'client' where id = ${made.projectId}`;
    await expect(store.tx((tx) => raw.execute(tx.db))).rejects.toThrow(/client_required/);
    expect((await made.project()).version).toBe(version);
  });

  it('declares every column of the database once: settable or managed (L-65)', async () => {
    const { store } = await open();
    const declared: ['project' | 'job' | 'task', FieldSet][] = [
      ['project', projectFields],
      ['job', jobFields],
      ['task', taskFields],
    ];
    for (const [table, fields] of declared) {
      const { rows } =
        dialect === 'sqlite'
          ? await sql<{ name: string }>`select name from pragma_table_info(${table})`.execute(store.read)
          : await sql<{
              name: string;
            }>`select column_name as name from information_schema.columns where table_name = ${table}`.execute(
              store.read,
            );
      const settable = Object.entries(fields).map(([name, field]) => field.column ?? name);
      const known = new Set([...settable, ...managedColumns[table]]);
      expect([...known].toSorted(), table).toEqual(rows.map((row) => row.name).toSorted());
      for (const column of managedColumns[table]) expect(settable, table).not.toContain(column);
    }
  });

  it('stores every settable field that it is given (L-11 to L-13, L-65, visual fields too)', async () => {
    const { store } = await open();
    await agents(store, 'turing');
    const made = await world(store);
    const { id: taskId, version } = await made.task('a');
    const changes = {
      title: 'b',
      description: 'd',
      request: 'r',
      priority: 'P1',
      scope: 'infra',
      assignee: 'turing',
      position: -3,
      tokens_estimated: 7,
      duration_min_estimated: 8,
      model_recommended: 'light',
      visual_intent: 'a red button',
      visual_url: 'http://127.0.0.1/x',
      repository_id: 'repo-1',
      base: 'main',
    };
    expect(Object.keys(changes).toSorted()).toEqual(Object.keys(taskFields).toSorted());
    const row = mustOk(await store.tx((tx) => updateTask(tx, { taskId, version, changes, actor: operator })));
    const { assignee: _assignee, ...plain } = changes;
    expect(row).toMatchObject(plain);
    expect(row.assignee_id).not.toBeNull();
  });
});
