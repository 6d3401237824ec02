import { join } from 'node:path';

import { packageFolder } from './built-package.ts';
import { createInstance, type Instance } from './instance.ts';

/** One step of `test/agents/follows-request.mjs`. */
export type Step = [name: string, ...args: unknown[]];

/** A server with an operator in phase 3, an author that follows its request and a reviewer that wants each FIXME away. */
export interface Crew extends Instance {
  /** The words for the author; `feedback` is what it does when changes are wanted. */
  request(title: string, steps: readonly Step[], feedback?: readonly Step[]): string;
  /** `run` over HTTP; gives the view. */
  run(repository: string, request: string, more?: Record<string, unknown>): Promise<any>; // oxlint-disable-line typescript/no-explicit-any
  /** Waits for an open decision of one kind of a run's project. */
  decision(run: RunIds, kind: string, timeoutMs?: number): Promise<any>; // oxlint-disable-line typescript/no-explicit-any
  /** Gives a verdict with a fresh proof; throws unless it was taken. */
  settle(decisionId: string, verdict: Record<string, unknown>): Promise<any>; // oxlint-disable-line typescript/no-explicit-any
  /** Waits for the offered landing and says yes; gives the landing. */
  land(run: RunIds): Promise<any>; // oxlint-disable-line typescript/no-explicit-any
  /** The newest session of a run's task, waited for until `wanted` holds. */
  session(run: RunIds, wanted?: (session: SessionFacts) => boolean): Promise<SessionFacts>;
  /** The clone in which the first session of an author works. */
  workFolder(session: SessionFacts): string;
  /** The pull request of a run's task, waited for until `wanted` holds. */
  pullRequest(run: RunIds, wanted?: (pull: any) => boolean): Promise<any>; // oxlint-disable-line typescript/no-explicit-any
  /** Stops every author that still works, so that one test leaves no slot taken for the next. */
  calm(): Promise<void>;
  /** All events so far, oldest first. */
  events(kind?: string): Promise<LoggedEvent[]>;
}

/** A line of `audit export`, in parts. */
export interface LoggedEvent {
  seq: number;
  /** Epoch ms. */
  at: number;
  kind: string;
  actor: { kind: string; id: string };
  subject: { kind: string; id: string };
  projectId: string | null;
  facts: any; // oxlint-disable-line typescript/no-explicit-any -- each kind has its own
}

export interface RunIds {
  project: { id: string };
  task: { id: string };
}

export interface SessionFacts {
  id: string;
  workKey: string;
  state: string;
  role: string;
  agent: string;
  pid: number | null;
  generation: number;
  taskId: string | null;
  endReason: string | null;
  openEscalations: { id: string; text: string }[];
}

/** A file of `test/agents` as words of a command. What it imports is named too, so that it is shown inside. */
export function scripted(name: string): string[] {
  return [join(packageFolder, 'test/agents', `${name}.mjs`), join(packageFolder, 'examples/agents/scripted-agent.mjs')];
}

/** Starts a crew; `settings` are further environment variables of the server. `prepare` sees it before the server starts. */
export async function openCrew(
  settings: NodeJS.ProcessEnv = {},
  prepare: (instance: Instance) => void = () => {},
): Promise<Crew> {
  const instance = createInstance(settings);
  try {
    prepare(instance);
    await instance.up();
    await instance.init();
    await instance.addAgent('turing', 'claude', 'author', scripted('follows-request'));
    await instance.addAgent('mitnick', 'codex', 'reviewer', scripted('reviews-fixme'));
  } catch (error) {
    await instance.dispose();
    throw error;
  }
  return withWords(instance);
}

function withWords(instance: Instance): Crew {
  const crew: Crew = {
    ...instance,
    request: (title, steps, feedback = []) =>
      `${title}\nsteps: ${JSON.stringify(steps)}\nfeedback: ${JSON.stringify(feedback)}`,
    async run(repository, request, more = {}) {
      const { status, body } = await instance.send('POST', '/api/runs', { repository, request, ...more });
      if (status >= 300) throw new Error(`run: ${status} ${JSON.stringify(body)}`);
      return body;
    },
    decision: (run, kind, timeoutMs) =>
      instance.until(
        `a decision ${kind}`,
        async () => {
          const open = await instance.get(`/api/decisions?kind=${kind}&limit=100`);
          return open.items.find((one: { projectId: string }) => one.projectId === run.project.id);
        },
        timeoutMs,
      ),
    async settle(decisionId, verdict) {
      const answer = await instance.send('PUT', `/api/decisions/${decisionId}/verdict`, verdict, { proof: true });
      if (answer.status >= 300) throw new Error(`verdict on ${decisionId}: ${JSON.stringify(answer.body)}`);
      return answer.body;
    },
    async land(run) {
      const offer = await crew.decision(run, 'landing');
      await crew.settle(offer.id, { verdict: 'approve' });
      return instance.until('the landing to end', async () => {
        const landing = await instance.get(`/api/landings/${offer.subject.id}`);
        return landing.state === 'landed' && landing;
      });
    },
    session: (run, wanted = () => true) =>
      instance.until(`a session of task ${run.task.id}: ${wanted}`, async () => {
        const all = await instance.get('/api/sessions?limit=200');
        const own = all.items.filter((one: SessionFacts) => one.taskId === run.task.id);
        return own.toSorted((a: SessionFacts, b: SessionFacts) => (a.id < b.id ? 1 : -1)).find(wanted);
      }),
    workFolder: (session) => join(`${instance.home}-work`, session.id, 'clone'),
    pullRequest: (run, wanted = () => true) =>
      instance.until(`a pull request of task ${run.task.id}: ${wanted}`, async () => {
        const all = await instance.get('/api/pull-requests?limit=200');
        return all.items.find((one: { taskId: string }) => one.taskId === run.task.id && wanted(one));
      }),
    async calm() {
      const { items } = await instance.get('/api/sessions?living=true&limit=200');
      for (const session of items.filter((one: SessionFacts) => one.role === 'author'))
        await instance.send('PUT', `/api/sessions/${session.id}/stop`, { reason: 'the test is over' });
    },
    async events(kind) {
      const lines = await instance.get(`/api/audit/export`);
      const all = (lines as string)
        .trim()
        .split('\n')
        .map((line) => readEvent(line));
      return kind === undefined ? all : all.filter((event) => event.kind === kind);
    },
  };
  return crew;
}

function readEvent(line: string): LoggedEvent {
  const row = JSON.parse(line);
  return {
    seq: row.seq,
    at: row.at,
    kind: row.kind,
    actor: { kind: row.actor_kind, id: row.actor_id },
    subject: { kind: row.subject_kind, id: row.subject_id },
    projectId: row.project_id ?? null,
    facts: JSON.parse(row.facts),
  };
}
