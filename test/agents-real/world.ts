import { execFileSync } from 'node:child_process';
import { chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { node, packageFolder } from '../e2e/built-package.ts';
import { createInstance, type Instance } from '../e2e/instance.ts';
import { modelHost, type RealAgent } from './agents.ts';
import { type ModelStep, scriptText } from './model-script.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

/** How long something may take on a machine with more work than cores; an agent alone takes up to 20 s to start there. */
const patienceMs = 120_000;

/** Who the server runs as, when not as whoever runs the tests. */
export interface User {
  uid: number;
  gid: number;
}

/** One session as the API shows it. */
export interface SessionFacts {
  id: string;
  state: string;
  role: string;
  generation: number;
  pid: number | null;
  endReason: string | null;
  taskId: string | null;
  flags: { waitingApproval: boolean };
  openEscalations: { id: string; text: string }[];
}

export interface Run {
  project: { id: string };
  task: { id: string };
}

/** An instance with one real agent as author, a scripted reviewer, a scripted model behind the wall, and a repository. */
export interface World {
  instance: Instance;
  model: ModelServer;
  repository: string;
  /** Hands a task to the agent: what its model answers, and what after changes were wanted. */
  run(title: string, steps: readonly ModelStep[], afterFeedback?: readonly ModelStep[]): Promise<Run>;
  /** The newest author session of a run that is `wanted`, waited for. */
  session(run: Run, wanted: (session: SessionFacts) => boolean): Promise<SessionFacts>;
  /** The open decision of one kind of a run. */
  decision(run: Run, kind: string): Promise<{ id: string; title: string }>;
  settle(decisionId: string, verdict: Record<string, unknown>): Promise<void>;
  /** The pull request of a run, waited for until `wanted` holds. */
  pullRequest(run: Run, wanted?: (pull: PullRequest) => boolean): Promise<PullRequest>;
  /** What the store holds of a session's conversation. */
  conversation(session: Pick<SessionFacts, 'id'>): ConversationFacts;
  /** The clone of a session that began in a folder of its own. */
  clone(session: Pick<SessionFacts, 'id'>): string;
  dispose(): Promise<void>;
}

export interface PullRequest {
  number: number;
  state: string;
  taskId: string;
  verdicts: { verdict: string }[];
}

export interface ConversationFacts {
  /** The permission mode that the agent said to be in. */
  mode: string | null;
  id: string | null;
  /** The conversation that it was to go on with. */
  resumed: string | null;
  /** 1 while it works on a prompt. */
  turnOpen: number;
}

/** Opens a world with `agent`, installed in `folder`. */
export async function openWorld(agent: RealAgent, folder: string, user?: User): Promise<World> {
  const model = await startModelServer();
  const rule = { host: modelHost, ports: [80], address: `127.0.0.1:${model.port}` };
  const environment = {
    ...agent.environment,
    MODEL_RULES: JSON.stringify([rule]),
    PATH: `${dirname(node)}:${process.env.PATH}`,
  };
  const entry = join(import.meta.dirname, 'instance-server.ts');
  const instance = createInstance(environment, user ? { entry, user } : { entry });
  try {
    await instance.up();
    await instance.init();
    const command = [join(folder, agent.program), ...agent.arguments];
    const envNames = Object.keys(agent.environment);
    const registered = {
      codename: 'turing',
      family: agent.family,
      roles: ['author'],
      command,
      envNames,
      driver: agent.driver,
    };
    const answer = await instance.send('POST', '/api/agents', registered, { proof: true });
    if (answer.status >= 300) throw new Error(JSON.stringify(answer.body));
    const reviewer = [
      join(import.meta.dirname, 'reviewer.mjs'),
      join(packageFolder, 'examples/agents/scripted-agent.mjs'),
    ];
    await instance.addAgent('mitnick', 'scripted', 'reviewer', reviewer);
    return worldOf(instance, model, makeRepository(instance, user));
  } catch (error) {
    await instance.dispose();
    await model.close();
    throw error;
  }
}

function worldOf(instance: Instance, model: ModelServer, repository: string): World {
  const world: World = {
    instance,
    model,
    repository,
    async run(title, steps, afterFeedback = []) {
      const feedback = Buffer.from(scriptText(afterFeedback)).toString('base64');
      const request = `${title}\n\n${scriptText(steps)}\nfeedback: ${feedback}`;
      const { status, body } = await instance.send('POST', '/api/runs', { repository, request });
      if (status >= 300) throw new Error(`run: ${status} ${JSON.stringify(body)}`);
      return body as Run;
    },
    session: (run, wanted) =>
      instance.until(
        `a session of ${run.task.id}: ${wanted}`,
        async () => {
          const { items } = (await instance.get('/api/sessions?limit=200')) as { items: SessionFacts[] };
          const own = items.filter((one) => one.taskId === run.task.id && one.role === 'author');
          return own.toSorted((a, b) => (a.id < b.id ? 1 : -1)).find(wanted);
        },
        patienceMs,
      ),
    decision: (run, kind) =>
      instance.until(
        `a decision ${kind}`,
        async () => {
          const { items } = await instance.get(`/api/decisions?kind=${kind}&limit=100`);
          return items.find((one: { projectId: string }) => one.projectId === run.project.id);
        },
        patienceMs,
      ),
    async settle(decisionId, verdict) {
      const answer = await instance.send('PUT', `/api/decisions/${decisionId}/verdict`, verdict, { proof: true });
      if (answer.status >= 300) throw new Error(`verdict on ${decisionId}: ${JSON.stringify(answer.body)}`);
    },
    pullRequest: (run, wanted = () => true) =>
      instance.until(
        `the pull request of ${run.task.id}: ${wanted}`,
        async () => {
          const { items } = (await instance.get('/api/pull-requests?limit=200')) as { items: PullRequest[] };
          return items.find((one) => one.taskId === run.task.id && wanted(one));
        },
        patienceMs,
      ),
    conversation({ id }) {
      const store = new DatabaseSync(join(instance.home, 'chantier.db'), { readOnly: true });
      try {
        const columns = 'mode, conversation_id AS id, resume_conversation_id AS resumed, turn_open AS turnOpen';
        return store.prepare(`SELECT ${columns} FROM session WHERE id = ?`).get(id) as unknown as ConversationFacts;
      } finally {
        store.close();
      }
    },
    clone: ({ id }) => join(`${instance.home}-work`, id, 'clone'),
    async dispose() {
      await instance.dispose();
      await model.close();
    },
  };
  return world;
}

/** A repository with one commit, in the instance's root. */
function makeRepository(instance: Instance, user?: User): string {
  const folder = join(instance.root, 'repository');
  mkdirSync(folder);
  if (user) chownSync(folder, user.uid, user.gid);
  const env = { PATH: process.env.PATH, HOME: join(instance.root, 'operator') };
  const git = (...args: string[]): void => {
    const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.com'];
    execFileSync('git', [...who, ...args], { cwd: folder, env, stdio: 'pipe', ...user });
  };
  git('init', '-q', '-b', 'main');
  writeFileSync(join(folder, 'README.md'), '# A small repository\n');
  git('add', '-A');
  git('commit', '-q', '-m', 'Begin');
  return folder;
}
