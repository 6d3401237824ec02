import * as fc from 'fast-check';
import { sql } from 'kysely';
import { describe, expect, it } from 'vitest';

import { isTerminal, mayMove, type MoveTable, refuse } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { moveJob, moveProject, moveTask } from './move-status.ts';
import {
  isOver,
  jobMoves,
  jobStateDocs,
  type JobStatus,
  projectMoves,
  projectStateDocs,
  type ProjectStatus,
  taskMoves,
  taskStateDocs,
  type TaskStatus,
} from './statuses.ts';
import { machine, world } from './testing.ts';

describe('the move tables (L-4, L-7, L-8)', () => {
  const tables: [string, MoveTable<string>, Readonly<Record<string, string>>][] = [
    ['project', projectMoves, projectStateDocs],
    ['job', jobMoves, jobStateDocs],
    ['task', taskMoves, taskStateDocs],
  ];

  it.each(tables)('of a %s end in done and cancelled only, and stay inside their own set', (_name, table, docs) => {
    for (const [from, to] of Object.entries(table)) {
      expect(isTerminal(table, from)).toBe(isOver(from as TaskStatus));
      for (const state of to) expect(Object.keys(table)).toContain(state);
      expect(to).not.toContain(from);
      expect(docs[from]).toMatch(/\.$/);
    }
    expect(Object.keys(docs)).toEqual(Object.keys(table));
  });

  it('never let a done task, or a project without a human, move on by itself', () => {
    expect(taskMoves.done).toEqual([]);
    expect(projectMoves.dev).not.toContain('done');
    expect(projectMoves.planning).not.toContain('done');
    expect(mayMove(jobMoves, 'planning', 'review')).toBe(false);
    expect(mayMove(taskMoves, 'todo', 'done')).toBe(false);
  });

  it('keep their sets apart: review is no project status, test no job status (L-5)', () => {
    expect(Object.keys(projectMoves)).not.toContain('review');
    expect(Object.keys(jobMoves)).not.toContain('test');
    expect(Object.keys(taskMoves)).toEqual(['todo', 'doing', 'paused', 'done', 'cancelled']);
  });
});

eachStore((_dialect, open) => {
  it('refuses statuses of another level by raw SQL (LT-3, L-6, decision 8)', async () => {
    const { store } = await open();
    const made = await world(store);
    const set = (table: string, status: string): Promise<unknown> =>
      store.tx((tx) => sql`update ${sql.table(table)} set status = ${status}`.execute(tx.db));
    await expect(set('project', 'review')).rejects.toThrow(/check/i);
    await expect(set('job', 'test')).rejects.toThrow(/check/i);
    await expect(set('task', 'review')).rejects.toThrow(/check/i);
    await expect(set('task', 'dev')).rejects.toThrow(/check/i);
    expect((await made.project()).status).toBe('dev');
  });

  it('refuses statuses of another level by code (LT-3)', async () => {
    const { store } = await open();
    const made = await world(store);
    const row = await made.project();
    const code = await store.tx(async (tx) => {
      const project = await moveProject(tx, row, {
        to: 'review' as ProjectStatus,
        event: 'project.started',
        actor: machine,
      });
      return project.ok ? project : refuse('invalid', project.refusal.code, project.refusal.message);
    });
    expect(code).toMatchObject({ ok: false, refusal: { code: 'project_wrong_state' } });
  });

  it('moves a task, job or project exactly as its table says (L-8, all pairs)', async () => {
    const { store } = await open();
    const made = await world(store);
    const [project, job, task] = [await made.project(), await made.job(), await made.task('a')];
    const rollback = (code: string) => refuse('wrong-state', code, code);
    const over = (status: string): { ended_at: number | null } => ({
      ended_at: isOver(status as TaskStatus) ? 1 : null,
    });
    const pausedFrom = (status: string): { status_before_pause: 'dev' | null } => ({
      status_before_pause: status === 'paused' ? 'dev' : null,
    });

    for (const from of Object.keys(taskMoves) as TaskStatus[]) {
      for (const to of Object.keys(taskMoves) as TaskStatus[]) {
        const done = await store.tx(async (tx) => {
          const path = from === 'done' ? ['doing', 'done'] : [from];
          for (const status of path) {
            await tx.db
              .updateTable('task')
              .set({ status: status as TaskStatus, ...over(status) })
              .where('id', '=', task.id)
              .execute();
          }
          const moved = await moveTask(tx, { ...task, status: from }, { to, event: 'task.updated', actor: machine });
          return rollback(moved.ok ? 'moved' : moved.refusal.code);
        });
        expect(done.refusal.code, `task ${from} → ${to}`).toBe(
          taskMoves[from].includes(to) ? 'moved' : 'task_wrong_state',
        );
      }
    }
    for (const from of Object.keys(jobMoves) as JobStatus[]) {
      for (const to of Object.keys(jobMoves) as JobStatus[]) {
        const done = await store.tx(async (tx) => {
          await tx.db
            .updateTable('job')
            .set({ kind: 'discovery', status: from, ...over(from), ...pausedFrom(from) })
            .where('id', '=', job.id)
            .execute();
          const moved = await moveJob(tx, { ...job, status: from }, { to, event: 'job.updated', actor: machine });
          return rollback(moved.ok ? 'moved' : moved.refusal.code);
        });
        expect(done.refusal.code, `job ${from} → ${to}`).toBe(
          jobMoves[from].includes(to) ? 'moved' : 'job_wrong_state',
        );
      }
    }
    for (const from of Object.keys(projectMoves) as ProjectStatus[]) {
      for (const to of Object.keys(projectMoves) as ProjectStatus[]) {
        const done = await store.tx(async (tx) => {
          await tx.db
            .updateTable('project')
            .set({ status: from, done_at: from === 'done' ? 1 : null, ...pausedFrom(from) })
            .where('id', '=', project.id)
            .execute();
          const row = { ...project, status: from };
          const moved = await moveProject(tx, row, { to, event: 'project.updated', actor: machine });
          return rollback(moved.ok ? 'moved' : moved.refusal.code);
        });
        expect(done.refusal.code, `project ${from} → ${to}`).toBe(
          projectMoves[from].includes(to) ? 'moved' : 'project_wrong_state',
        );
      }
    }
  });

  it('refuses a move whose start is not what the store holds, whatever the caller believes', async () => {
    const { store } = await open();
    const made = await world(store);
    const row = await made.task('a');
    const states = Object.keys(taskMoves) as TaskStatus[];
    await fc.assert(
      fc.asyncProperty(fc.constantFrom(...states), fc.constantFrom(...states), async (believed, to) => {
        fc.pre(believed !== 'todo');
        const moved = await store.tx((tx) =>
          moveTask(tx, { ...row, status: believed }, { to, event: 'task.updated', actor: machine }),
        );
        expect(moved.ok).toBe(false);
        expect((await made.task('a')).status).toBe('todo');
      }),
      { numRuns: 20 },
    );
  });
});
