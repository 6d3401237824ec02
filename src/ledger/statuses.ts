import type { MoveTable } from '../kernel/index.ts';
import type { JobRow, ProjectRow, TaskRow } from './rows.ts';

export type ProjectStatus = ProjectRow['status'];
export type JobStatus = JobRow['status'];
export type TaskStatus = TaskRow['status'];
export type Priority = TaskRow['priority'];

/** From most to least urgent (L-4). */
export const priorities: readonly Priority[] = ['P0', 'P1', 'P2', 'P3'];

/** Moves of a project (L-8). Reopening is not a move of the table: see `projectReopenings`. */
export const projectMoves: MoveTable<ProjectStatus> = {
  planning: ['dev', 'test', 'paused', 'cancelled'],
  dev: ['test', 'paused', 'cancelled'],
  test: ['dev', 'done', 'paused', 'cancelled'],
  paused: ['planning', 'dev', 'test', 'cancelled'],
  done: [],
  cancelled: [],
};

/** Moves of a job (L-8). `discovery` is only for jobs of that kind; `paused` goes back to where it was. */
export const jobMoves: MoveTable<JobStatus> = {
  discovery: ['planning', 'dev', 'paused', 'done', 'cancelled'],
  planning: ['dev', 'paused', 'done', 'cancelled'],
  dev: ['review', 'paused', 'done', 'cancelled'],
  review: ['dev', 'done', 'paused', 'cancelled'],
  paused: ['discovery', 'planning', 'dev', 'review', 'done', 'cancelled'],
  done: [],
  cancelled: [],
};

/** Moves of a task (L-8). */
export const taskMoves: MoveTable<TaskStatus> = {
  todo: ['doing', 'paused', 'cancelled'],
  doing: ['done', 'paused', 'todo', 'cancelled'],
  paused: ['todo', 'doing', 'cancelled'],
  done: [],
  cancelled: [],
};

/** What a human's `reopen` with a reason does to something that is over (decision 7). */
export const projectReopenings: Readonly<Partial<Record<ProjectStatus, ProjectStatus>>> = {
  done: 'dev',
  cancelled: 'dev',
};
export const jobReopenings: Readonly<Partial<Record<JobStatus, JobStatus>>> = { done: 'dev', cancelled: 'dev' };
export const taskReopenings: Readonly<Partial<Record<TaskStatus, TaskStatus>>> = { done: 'todo', cancelled: 'todo' };

/** Each state with who leaves it and how; the state pages of the docs are made from these. */
export const projectStateDocs: Readonly<Record<ProjectStatus, string>> = {
  planning: 'Being prepared; discovery tasks are worked on. Leaves by itself when its first job goes to dev.',
  dev: 'Being worked on. Leaves by itself to test when every job is over and something other than discovery is done.',
  test: 'Everything is delivered. Only a human marks it done; a new or reopened task takes it back to dev.',
  paused: 'A human stopped it: no task starts. Resume takes it back to where it was.',
  done: 'Over, by a human. Only reopen with a reason leaves it.',
  cancelled: 'Over without being finished, by a human. Only reopen with a reason leaves it.',
};
export const jobStateDocs: Readonly<Record<JobStatus, string>> = {
  discovery: 'A discovery job that is being worked on. Leaves by itself when its tasks are over.',
  planning: 'Not started: its tasks wait. A human starts it, or the end of the last job that it waits for.',
  dev: 'Being worked on. Leaves by itself to review or done.',
  review: 'Nothing is left to work on: it waits for pull requests, for QA or for a human.',
  paused: 'A human stopped it: none of its tasks starts, and finished tasks do not end it. Resume takes it back.',
  done: 'All its tasks are over and at least one is done. Only reopen with a reason leaves it.',
  cancelled: 'Over without being finished, by a human. Only reopen with a reason leaves it.',
};
export const taskStateDocs: Readonly<Record<TaskStatus, string>> = {
  todo: 'Waits for its blockers, its job, its project, or for an agent that claims it.',
  doing: 'Held by a claim (an agent works on it) or by a delivery (it waits for its pull request).',
  paused: 'Stopped by a human, or failed as often as it may. Nobody starts it until a human resumes it.',
  done: 'Landed, or completed by its session where it has no repository, or by a human with a reason.',
  cancelled: 'Given up by a human; what it blocked is free unless the edge says hold.',
};

/** Whether a task, job or project in `status` is over (L-7). */
export function isOver(status: ProjectStatus | JobStatus | TaskStatus): boolean {
  return status === 'done' || status === 'cancelled';
}

/** Statuses of a job in which its tasks may start, given that nothing blocks it and its project is at work. */
export const workingJobStatuses: readonly JobStatus[] = ['discovery', 'dev', 'review'];

/** Statuses of a project in which tasks may start. */
export const workingProjectStatuses: readonly ProjectStatus[] = ['planning', 'dev'];
