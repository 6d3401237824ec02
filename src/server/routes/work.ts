import { z } from 'zod';

import {
  agentView,
  createdProject,
  dependencyView,
  jobQuery,
  jobView,
  newAgent,
  newJob,
  newProject,
  newTask,
  pageOf,
  projectDetail,
  projectQuery,
  projectView,
  readyQuery,
  reasonRequest,
  runRequest,
  runView,
  taskChange,
  taskClosure,
  taskQuery,
  taskView,
} from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';

const name = z.string().min(1).max(400);

/** Requests, projects, jobs, tasks, dependencies, agents. */
export function addWorkRoutes(api: Api, parts: ApiParts): void {
  const { work } = parts.app;

  addRoute(
    api,
    parts,
    'POST /api/runs',
    { summary: 'Turn one request into work', body: runRequest, answer: runView, status: 201 },
    ({ caller, body }) => work.run(caller, body),
  );
  addRoute(
    api,
    parts,
    'GET /api/projects',
    { summary: 'List projects', query: projectQuery, answer: pageOf(projectView) },
    ({ caller, query }) => work.listProjects(caller, query),
  );
  addRoute(
    api,
    parts,
    'POST /api/projects',
    {
      summary: 'Create a project with its first job and tasks (L-31)',
      body: newProject,
      answer: createdProject,
      status: 201,
    },
    ({ caller, body }) => work.createProject(caller, body),
  );
  addRoute(
    api,
    parts,
    'GET /api/projects/{project}',
    { summary: 'Show a project with its jobs and tasks', params: z.object({ project: name }), answer: projectDetail },
    ({ caller, params }) => work.showProject(caller, params.project),
  );
  addRoute(
    api,
    parts,
    'GET /api/jobs',
    { summary: 'List jobs', query: jobQuery, answer: pageOf(jobView) },
    ({ caller, query }) => work.listJobs(caller, query),
  );
  addRoute(
    api,
    parts,
    'POST /api/jobs',
    { summary: 'Add a job with its tasks', body: newJob, answer: jobView, status: 201 },
    ({ caller, body }) => work.addJob(caller, body),
  );
  addRoute(
    api,
    parts,
    'POST /api/jobs/{job}/tasks',
    { summary: 'Add a task to a job', params: z.object({ job: name }), body: newTask, answer: taskView, status: 201 },
    ({ caller, params, body }) => work.addTask(caller, params.job, body),
  );
  addTaskRoutes(api, parts);
  addDependencyRoutes(api, parts);
  addRoute(api, parts, 'GET /api/agents', { summary: 'List agents', answer: z.array(agentView) }, ({ caller }) =>
    work.listAgents(caller),
  );
  addRoute(
    api,
    parts,
    'POST /api/agents',
    { summary: 'Register an agent', body: newAgent, answer: agentView, status: 201 },
    ({ caller, body }) => work.addAgent(caller, body),
  );
}

function addTaskRoutes(api: Api, parts: ApiParts): void {
  const { work } = parts.app;
  const params = z.object({ task: name });
  addRoute(
    api,
    parts,
    'GET /api/tasks',
    { summary: 'List tasks', query: taskQuery, answer: pageOf(taskView) },
    ({ caller, query }) => work.listTasks(caller, query),
  );
  addRoute(
    api,
    parts,
    'GET /api/tasks/ready',
    { summary: 'Tasks that could start now', query: readyQuery, answer: z.array(taskView) },
    ({ caller, query }) => work.readyTasks(caller, query.limit),
  );
  addRoute(
    api,
    parts,
    'GET /api/tasks/{task}',
    { summary: 'Show a task', params, answer: taskView },
    ({ caller, params: { task } }) => work.showTask(caller, task),
  );
  addRoute(
    api,
    parts,
    'PATCH /api/tasks/{task}',
    { summary: 'Change a task', params, body: taskChange, answer: taskView },
    (input) => work.updateTask(input.caller, input.params.task, input.body),
  );
  addRoute(
    api,
    parts,
    'PUT /api/tasks/{task}/closure',
    {
      summary: 'Complete a task without landing, by a human with a reason',
      params,
      body: taskClosure,
      answer: taskView,
    },
    (input) => work.completeTask(input.caller, input.params.task, input.body.reason),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/tasks/{task}/closure',
    { summary: 'Reopen a finished task', params, body: reasonRequest, answer: taskView },
    (input) => work.reopenTask(input.caller, input.params.task, input.body.reason ?? ''),
  );
}

function addDependencyRoutes(api: Api, parts: ApiParts): void {
  const { work } = parts.app;
  const params = z.object({ task: name, blocker: name });
  addRoute(
    api,
    parts,
    'GET /api/jobs/{job}/dependencies',
    { summary: 'List the dependencies of a job', params: z.object({ job: name }), answer: z.array(dependencyView) },
    ({ caller, params: { job } }) => work.listDependencies(caller, job),
  );
  addRoute(
    api,
    parts,
    'PUT /api/tasks/{task}/blockers/{blocker}',
    { summary: 'Let a task wait for another one of its job', params, answer: dependencyView },
    ({ caller, params: { task, blocker } }) => work.addDependency(caller, { blocked: task, blocker }),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/tasks/{task}/blockers/{blocker}',
    { summary: 'Let a task wait no longer', params, answer: z.object({ removed: z.boolean() }) },
    ({ caller, params: { task, blocker } }) => work.removeDependency(caller, { blocked: task, blocker }),
  );
}
