import { z } from 'zod';

import { anyId, codename, pageQuery, priority, shortText, text, timestamp, title, workText } from './fields.ts';
import { budgetText, budgetView, estimateView, spendingView } from './spending.ts';

/** States by level (L-4). */
export const projectStatus = z.enum(['planning', 'dev', 'test', 'paused', 'done', 'cancelled']);
export const jobStatus = z.enum(['discovery', 'planning', 'dev', 'paused', 'review', 'done', 'cancelled']);
export const taskStatus = z.enum(['todo', 'doing', 'done', 'paused', 'cancelled']);
export const jobKind = z.enum(['discovery', 'implementation', 'companion']);
/** Class of the recommended model (L-35). */
export const modelClass = z.enum(['high', 'medium', 'light']);

const counts = z.object({
  todo: z.int(),
  doing: z.int(),
  done: z.int(),
  paused: z.int(),
  cancelled: z.int(),
});

/** A project as a client sees it. */
export const projectView = z.object({
  id: anyId,
  codename,
  title: z.string(),
  status: projectStatus,
  priority,
  scope: z.string().nullable(),
  currentFocus: z.string().nullable(),
  notes: z.string().nullable(),
  /** The repository its work is done in; null = work without a repository. */
  repositoryId: anyId.nullable(),
  spending: spendingView,
  budget: budgetView.nullable(),
  taskCounts: counts,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type ProjectView = z.infer<typeof projectView>;

export const jobView = z.object({
  id: anyId,
  projectId: anyId,
  project: z.string(),
  codename,
  title: z.string(),
  kind: jobKind,
  status: jobStatus,
  priority,
  taskCounts: counts,
  createdAt: timestamp,
  updatedAt: timestamp,
});
export type JobView = z.infer<typeof jobView>;

export const taskView = z.object({
  id: anyId,
  projectId: anyId,
  project: z.string(),
  jobId: anyId,
  job: z.string(),
  codename,
  title: z.string(),
  description: z.string().nullable(),
  status: taskStatus,
  priority,
  position: z.int(),
  /** Codename of the agent that shall do it; null = any author. */
  assignee: z.string().nullable(),
  tokenEstimate: z.int().nullable(),
  /** What it has used, reviews included, what its last author was expected to, and its cap. */
  spending: spendingView,
  estimate: estimateView.nullable(),
  budget: budgetView.nullable(),
  modelClass,
  attempts: z.int(),
  /** Ids of the tasks that block it, resolved ones included. */
  blockedBy: z.array(anyId),
  isReady: z.boolean(),
  /** The living session that works on it. */
  sessionId: anyId.nullable(),
  /** Number of its open pull request. */
  pullRequest: z.int().nullable(),
  createdAt: timestamp,
  updatedAt: timestamp,
  startedAt: timestamp.nullable(),
  endedAt: timestamp.nullable(),
});
export type TaskView = z.infer<typeof taskView>;

/** A project with everything below it. */
export const projectDetail = projectView.extend({ jobs: z.array(jobView), tasks: z.array(taskView) });
export type ProjectDetail = z.infer<typeof projectDetail>;

export const dependencyView = z.object({ jobId: anyId, blocked: anyId, blocker: anyId });
export type DependencyView = z.infer<typeof dependencyView>;

export const agentRole = z.enum(['author', 'reviewer', 'qa']);
export const agentDriver = z.enum(['acp', 'claude', 'codex', 'command']);

export const agentView = z.object({
  id: anyId,
  codename,
  driver: agentDriver,
  /** Absolute program and arguments, as resolved when it was registered. */
  command: z.array(z.string()),
  /** The program runs at a terminal; `attach` shows it. */
  tty: z.boolean(),
  /** Provider family; a reviewer comes from another one where there is one. */
  family: z.string(),
  roles: z.array(agentRole),
  active: z.boolean(),
  /** Provider account that it uses; agents of one account share its limits. */
  account: z.string(),
  /** Why the account takes nothing now; null: it does. */
  limited: z.enum(['usage', 'rate', 'billing', 'auth']).nullable(),
  /** Nothing is started on it before this moment; null while `limited` is set: until a human has settled it. */
  limitedUntil: timestamp.nullable(),
  createdAt: timestamp,
});
export type AgentView = z.infer<typeof agentView>;

export const newAgent = z.object({
  codename,
  driver: agentDriver.default('acp'),
  command: z.array(z.string().min(1).max(4096)).min(1).max(64),
  /** For the driver `command` only: run the program at a terminal. */
  tty: z.boolean().optional(),
  family: text(64),
  roles: z.array(agentRole).min(1).default(['author']),
  /** Names of environment variables the operator hands over for this agent. */
  envNames: z
    .array(z.string().regex(/^[A-Z_][A-Z0-9_]{0,63}$/i))
    .max(32)
    .optional(),
  /** Name of the provider account; default: the handed-over key, or the log-in of its program. */
  account: text(64).optional(),
});
export type NewAgent = z.infer<typeof newAgent>;

/** `chantier run`: one request becomes project, job and task in one transaction (design 9). */
export const runRequest = z.object({
  request: workText,
  /** Absolute path of a checkout, or the id of a registered repository. */
  repository: z.string().min(1).max(4096),
  /** Codename of the author agent; default: the first that may author. */
  agent: codename.optional(),
  /** Take the uncommitted work of the checkout along, as a snapshot in a ref. */
  withChanges: z.boolean().default(false),
  /** Number of the forge issue this belongs to. */
  issue: z.int().positive().optional(),
  title: title.optional(),
  /** What the work may use, reviews included (`2M`, `$5`). */
  budget: budgetText.optional(),
});
export type RunRequest = z.infer<typeof runRequest>;

export const runView = z.object({
  project: projectView,
  job: jobView,
  task: taskView,
  repositoryId: anyId,
  base: z.string(),
  baseCommit: z.string(),
  /** Files with uncommitted work that are not part of the work. */
  notIncluded: z.array(z.string()),
  /** Open decision that must be settled first (`repository_trust`), if any. */
  waitsFor: anyId.nullable(),
  /** Why it starts only later: a short disk or the pressure of the machine; it then goes on by itself. */
  held: z.string().nullable(),
  warnings: z.array(z.string()),
});
export type RunView = z.infer<typeof runView>;

export const newTask = z.object({
  codename: codename.optional(),
  title,
  description: workText.optional(),
  assignee: codename.optional(),
  priority: priority.optional(),
  tokenEstimate: z.int().positive().max(100_000_000).optional(),
  modelClass: modelClass.optional(),
  position: z.int().min(0).optional(),
  budget: budgetText.optional(),
});
export type NewTask = z.infer<typeof newTask>;

export const newJob = z.object({
  project: z.string().min(1).max(128),
  codename,
  title,
  kind: jobKind.default('implementation'),
  priority: priority.optional(),
  tasks: z.array(newTask).min(1).max(1000),
});
export type NewJob = z.infer<typeof newJob>;

/** The canonical creation L-31: project, first job and at least one task. Deep rules (L-33) are judged all together by the ledger. */
export const newProject = z.object({
  codename: z.string().max(200),
  title: z.string().max(2000),
  priority: z.string().max(8).optional(),
  scope: z.string().max(64).optional(),
  currentFocus: workText.optional(),
  notes: workText.optional(),
  /** Id or path of the repository. */
  repository: z.string().min(1).max(4096).optional(),
  firstJob: z.object({
    codename: z.string().max(200),
    title: z.string().max(2000),
    priority: z.string().max(8).optional(),
    kind: jobKind.optional(),
  }),
  firstTasks: z
    .array(newTask.partial({ title: true }))
    .max(1000)
    .optional(),
  firstTask: newTask.partial({ title: true }).optional(),
  budget: budgetText.optional(),
  dryRun: z.boolean().optional(),
});
export type NewProject = z.infer<typeof newProject>;

/** Answer of the canonical creation (L-37). In a dry run the ids are null and nothing was inserted. */
export const createdProject = z.object({
  projectId: anyId.nullable(),
  jobId: anyId.nullable(),
  taskIds: z.array(anyId),
  codenames: z.object({ project: z.string(), job: z.string(), tasks: z.array(z.string()) }),
  warnings: z.array(z.string()),
  dryRun: z.boolean(),
});
export type CreatedProject = z.infer<typeof createdProject>;

export const projectQuery = pageQuery.extend({ status: projectStatus.optional() });
export const jobQuery = pageQuery.extend({ project: z.string().max(128).optional() });
export const taskQuery = pageQuery.extend({
  project: z.string().max(128).optional(),
  job: z.string().max(128).optional(),
  status: taskStatus.optional(),
});

export const taskChange = z.object({
  title: title.optional(),
  description: workText.optional(),
  priority: priority.optional(),
  assignee: codename.nullable().optional(),
  tokenEstimate: z.int().positive().max(100_000_000).optional(),
  position: z.int().min(0).optional(),
  status: z.enum(['todo', 'paused', 'cancelled']).optional(),
  /** More than now needs a proof. */
  budget: budgetText.optional(),
  reason: shortText.optional(),
});
export type TaskChange = z.infer<typeof taskChange>;

/** A human completes work without landing: needs a reason (and proof). */
export const taskClosure = z.object({ reason: shortText });
