import { execFileSync } from 'node:child_process';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import type {
  AgentView,
  AuditVerdict,
  EventPage,
  EventView,
  LandingView,
  Page,
  PullRequestView,
  RunView,
  TaskView,
} from '../../wire/index.ts';
import { type DemoInstance, startDemoInstance } from './demo-instance.ts';
import { git, makeDemoRepository } from './make-repository.ts';
import { decideWhatWaits } from './scripted-operator.ts';

/** One step of the demo, checked against store and git. */
export interface DemoStep {
  name: string;
  ok: boolean;
  /** What was seen; for people. */
  seen?: string;
}

export interface DemoResult {
  repository: string;
  base: string;
  commit: string | null;
  steps: DemoStep[];
}

export interface DemoOptions {
  unattended: boolean;
  env: NodeJS.ProcessEnv;
  /** Folder of the scripted agents. */
  agents: string;
  signal: AbortSignal;
  /** Told about each step and what to do next. */
  say(line: string): void;
}

/** How long the whole may take: a script decides in seconds, a human has an hour. */
const unattendedMs = 180_000;
const attendedMs = 3_600_000;

/**
 * The main job on a scratch repository in a fresh temporary home, with scripted agents (design section 9): question, held
 * call, one round of requested changes, approval, landing. Every step is looked up in the store and in git. The folder is
 * kept. With `unattended` a scripted operator decides; else the reader does, in the console.
 */
export async function runDemo(options: DemoOptions): Promise<DemoResult> {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-demo-'));
  const repository = join(folder, 'repository');
  const first = makeDemoRepository(repository);
  const steps: DemoStep[] = [];
  const step = (name: string, ok: boolean, seen?: string): void => {
    steps.push({ name, ok, ...(seen === undefined ? {} : { seen }) });
    options.say(`${ok ? '✓' : '✗'} ${name}${seen === undefined ? '' : ` — ${seen}`}`);
  };
  step('a small git repository', git(repository, 'rev-list', '--count', 'main') === '1', repository);
  const instance = await startDemoInstance(join(folder, 'home'), options.env);
  try {
    step(
      instance.sandbox.holds ? 'a sandbox that holds' : 'no sandbox on this machine (the demo’s agents are scripts)',
      true,
      instance.sandbox.message,
    );
    await registerAgents(instance, options.agents, step);
    const run = await instance.client.send<RunView>('POST', '/api/runs', {
      body: { request: 'Add a formal greeting beside `greet`, with a test.', repository },
    });
    step(
      'the request is a task',
      run.task.status === 'todo' || run.task.status === 'doing',
      `${run.task.project}/${run.task.codename}`,
    );
    if (!options.unattended) invite(options, instance);
    await follow(options, instance, run);
    await checkWhatHappened(instance, run, { repository, first, step });
    const base = git(repository, 'rev-parse', 'main');
    return { repository, base: run.base, commit: base === first ? null : base, steps };
  } finally {
    await instance.stop();
  }
}

async function registerAgents(
  instance: DemoInstance,
  folder: string,
  step: (name: string, ok: boolean, seen?: string) => void,
): Promise<void> {
  for (const [codename, family, role] of [
    ['demo-author', 'demo-a', 'author'],
    ['demo-reviewer', 'demo-b', 'reviewer'],
  ] as const) {
    const body = {
      codename,
      family,
      roles: [role],
      driver: 'acp',
      command: [process.execPath, join(folder, `${codename}.mjs`)],
    };
    await instance.client.send<AgentView>('POST', '/api/agents', { body, proof: await instance.proof() });
  }
  const agents = await instance.client.send<AgentView[]>('GET', '/api/agents');
  step(
    'two scripted agents of different families',
    agents.length === 2,
    agents.map((agent) => `${agent.codename} (${agent.family})`).join(', '),
  );
}

function invite(options: DemoOptions, instance: DemoInstance): void {
  options.say('');
  options.say(`Open ${instance.url} and log in as "operator" with the passphrase ${instance.passphrase}`);
  options.say(
    'Decide there: one question, one risky call, one landing. Or from another terminal with `chantier pending`.',
  );
  options.say('');
}

/** Waits until the task is done; unattended, decides what comes. */
async function follow(options: DemoOptions, instance: DemoInstance, run: RunView): Promise<void> {
  const giveUpAt = performance.now() + (options.unattended ? unattendedMs : attendedMs);
  while (performance.now() < giveUpAt && !options.signal.aborted) {
    if (options.unattended) {
      for (const decision of await decideWhatWaits(instance)) options.say(`  the operator decides: ${decision.title}`);
    }
    const task = await instance.client.send<TaskView>('GET', `/api/tasks/${encodeURIComponent(run.task.id)}`);
    if (['cancelled', 'paused'].includes(task.status)) return;
    if (task.status === 'done' && (await isAllSaid(instance))) return;
    await sleep(200);
  }
}

/** Whether what follows a landing outside the store has happened too. */
async function isAllSaid(instance: DemoInstance): Promise<boolean> {
  const landings = await instance.client.send<Page<LandingView>>('GET', '/api/landings');
  return landings.items.every((landing) => landing.state !== 'landed' || landing.checkout !== null);
}

interface Seen {
  repository: string;
  first: string;
  step(name: string, ok: boolean, seen?: string): void;
}

async function checkWhatHappened(
  instance: DemoInstance,
  run: RunView,
  { repository, first, step }: Seen,
): Promise<void> {
  const events = await readAll(instance);
  const of = (kind: string): EventView[] => events.filter((event) => event.kind === kind);
  const authors = of('session.started').filter((event) => event.facts.role === 'author');
  step('the author worked in its own clone', of('work-folder.ready').length >= 1 && authors.length >= 1);
  step(
    'its question waited for a human',
    of('escalation.opened').length === 1 && of('escalation.answered').length === 1,
  );
  step(
    'its risky call waited for a human',
    of('decision.settled').some((event) => event.facts.decision_kind === 'call_approval'),
  );
  const changes = await instance.client.send<Page<PullRequestView>>('GET', '/api/pull-requests');
  const change = changes.items[0];
  const verdicts = change?.verdicts.map((verdict) => verdict.verdict) ?? [];
  step(
    'a reviewer of another family asked for a change',
    verdicts[0] === 'request_changes' && change?.verdicts[0]?.family === 'demo-b',
  );
  step('the same conversation went on', authors.length === 2 && authors[1]?.facts.resumes === true);
  step('the reviewer approved', verdicts.at(-1) === 'approve');
  const landings = await instance.client.send<Page<LandingView>>('GET', '/api/landings');
  const landing = landings.items.find((one) => one.state === 'landed');
  step('the checks passed on the candidate', landing?.checks.some((check) => check.status === 'passed') === true);
  const task = await instance.client.send<TaskView>('GET', `/api/tasks/${encodeURIComponent(run.task.id)}`);
  step(
    'a human landed it and the task is done',
    task.status === 'done' && landing?.landedBy !== null && landing !== undefined,
  );
  const tip = git(repository, 'rev-parse', 'main');
  const trailer = git(repository, 'log', '-1', '--format=%(trailers:key=Chantier-Landing,valueonly)', 'main');
  step(
    'the base carries the landing’s trailer',
    tip !== first && landing !== undefined && trailer === landing.id,
    `Chantier-Landing: ${trailer}`,
  );
  step(
    'the checkout followed by a fast-forward',
    git(repository, 'status', '--porcelain') === '' && git(repository, 'merge-base', first, 'main') === first,
  );
  step('the landed tree passes its own checks', passesChecks(repository));
  const audit = await instance.client.send<AuditVerdict>('GET', '/api/audit/verification');
  step('the event log is whole', audit.ok, `${audit.checked} events`);
}

async function readAll(instance: DemoInstance): Promise<EventView[]> {
  const all: EventView[] = [];
  for (let after = 0; ;) {
    const page = await instance.client.send<EventPage>('GET', '/api/events', { query: { after, limit: 1000 } });
    all.push(...page.items);
    if (page.items.length === 0 || page.next >= page.head) return all;
    after = page.next;
  }
}

function passesChecks(repository: string): boolean {
  try {
    execFileSync(process.execPath, ['--test'], { cwd: repository, stdio: 'ignore', env: { PATH: process.env.PATH } });
    return true;
  } catch {
    return false;
  }
}
