import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { pino } from 'pino';
import { onTestFinished } from 'vitest';

import {
  type App,
  type AppContext,
  type Caller,
  createAccess,
  createApp,
  ensureOperatorToken,
} from '../../src/app/index.ts';
import { type CliIo, runCli } from '../../src/cli/index.ts';
import { loadConfig, pathsOf } from '../../src/config/index.ts';
import { forgeFolders, openForge } from '../../src/forge/index.ts';
import { type ManualClock, mustOk, newId } from '../../src/kernel/index.ts';
import { bridgeOf } from '../../src/package-files.ts';
import { openSandbox } from '../../src/sandbox/index.ts';
import { startServer } from '../../src/server/index.ts';
import { findByTokenHash } from '../../src/sessions/index.ts';
import { openTestSqlite, type TestStore } from '../../src/store/testing.ts';
import type { DecisionView, PullRequestView, RunRequest, RunView, SessionView } from '../../src/wire/index.ts';
import { makeMakeRepository } from '../repositories/index.ts';
import { roomyMachine } from './app-context.ts';

/** One step of `test/agents/follows-words.mjs`. */
export type Step = [name: string, ...args: unknown[]];

/** What author and reviewer do, a list of steps for each turn; the last list is that of all further turns. */
export interface Words {
  author: Step[][];
  reviewer?: Step[][];
}

/** Writes one file, commits it and reports it done. */
export const deliver = (path: string, text: string, summary = 'done'): Step[] => [
  ['write', path, text],
  ['commit', `Write ${path}`],
  ['done', summary],
];

/** A reviewer's turn that wants each FIXME of the files away, else approves. */
export const judge = (...files: string[]): Step[] => [
  ['judge', files],
  ['done', 'reviewed'],
];

/** How a world differs from the plain one: an operator, phase 3, an author `turing` and a reviewer `mitnick` of another family. */
export interface WorldOptions {
  store?: TestStore;
  sandbox?: 'auto' | 'none' | `user:${string}`;
  reviewers?: { codename: string; family: string }[];
  settings?: Readonly<Record<string, string | number | boolean>>;
  machine?: AppContext['machine'];
}

/** The whole app in this process over a real store, forge, sandbox, supervision and the bridge that agents call. */
export interface World {
  app: App;
  ctx: AppContext;
  /** Goes with time, and can be moved further. */
  clock: ManualClock;
  folder: string;
  /** The operator's call, with a key of its own. */
  caller(proof?: Caller['proof']): Caller;
  /** Makes a checkout that `make check` judges. */
  checkout(name?: string): string;
  /** A run whose request tells the agents what to do. */
  run(path: string, title: string, words: Words, more?: Partial<RunRequest>): Promise<RunView>;
  /** Moves the clock and has every loop look. */
  pass(ms: number): Promise<void>;
  /** Sessions of a run's task or pull request, oldest first. */
  sessions(run: RunView, role?: string): Promise<SessionView[]>;
  /** Waits for the newest session of a run that is as wanted. */
  session(run: RunView, role: string, wanted: (session: SessionView) => boolean): Promise<SessionView>;
  /** Waits for the pull request of a run to be as wanted. */
  pull(run: RunView, wanted?: (pull: PullRequestView) => boolean): Promise<PullRequestView>;
  /** Waits for an open decision of a kind in a run's project. */
  decision(run: RunView, kind: string): Promise<DecisionView>;
  /** Everything that the agents of a session have said. */
  said(sessionId: string): Promise<string>;
  /** One invocation of the program against this world's server; `io` overrides parts of its surroundings. */
  cli(argv: string[], io?: Partial<CliIo>): Promise<{ exitCode: number; out: string; err: string }>;
  until<T>(what: string, probe: () => Promise<T | undefined | false>, withinMs?: number): Promise<T>;
}

const node = process.execPath;
const agentFiles = [
  join(import.meta.dirname, '../agents/follows-words.mjs'),
  join(import.meta.dirname, '../../examples/agents/scripted-agent.mjs'),
];

/** Opens a world for the running test; all of it is gone when the test ends. */
export async function openWorld(options: WorldOptions = {}): Promise<World> {
  const { store, clock } = options.store ?? (await openTestSqlite());
  letTimePass(clock);
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'chapp-')));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  const paths = pathsOf(join(folder, 'c'));
  const person = join(folder, 'person');
  for (const path of [paths.home, person]) mkdirSync(path, { mode: 0o700 });
  const config = loadConfig({ env: {}, stored: new Map(Object.entries({ 'gate.phase': 3, ...options.settings })) });
  const opened = await openBest(options.sandbox ?? 'auto', paths.home);
  const barrier = { sandbox: opened.sandbox, report: opened.report, wall: undefined, rules: [] };
  const log = pino({ level: process.env.CHANTIER_TEST_LOG ?? 'silent' });
  const forge = mustOk(await openForge({ folders: forgeFolders(paths), personHome: person }));
  const bridge = bridgeOf(paths);
  onTestFinished(() => rmSync(bridge.runFolder, { recursive: true, force: true }));
  const { app, context, start, stop } = await createApp({
    machine: options.machine ?? roomyMachine,
    store,
    paths,
    config,
    forge,
    barrier,
    log,
    bridge,
    version: '0.0.0',
    nodeId: 'node-1',
    carried: { path: [], readOnly: [], env: {} },
    operatorHome: person,
  });
  const access = createAccess({
    store,
    operatorToken: ensureOperatorToken(paths.operatorToken),
    lookUpSession: (hash) => findByTokenHash(store.read, hash),
    sandboxHolds: () => opened.report.holds,
    passphraseCost: 4,
  });
  const operator = mustOk(await access.addFirstOperator({ name: 'ada', passphrase: 'correct horse battery' }));
  const shared = {
    app,
    access,
    paths,
    doors: bridge.doors,
    log,
    version: '0.0.0',
    port: 0,
    announce: () => {},
    onShutdown: () => {},
  };
  const server = await startServer(shared);
  await start();
  const caller = (proof: Caller['proof'] = 'fresh'): Caller => ({
    actor: { kind: 'operator', id: operator.id, channel: 'terminal' },
    proof,
    scope: 'test',
    idempotencyKey: newId(),
  });
  onTestFinished(async () => {
    await app.instance.prepareDown(caller(), { stopAgents: true });
    await server.stop();
    await stop();
  });
  const world = withWords({ app, ctx: context, clock, folder, caller });
  await world.addAgent('turing', 'claude', 'author');
  for (const reviewer of options.reviewers ?? [{ codename: 'mitnick', family: 'codex' }])
    await world.addAgent(reviewer.codename, reviewer.family, 'reviewer');
  return world;
}

/** The machine's own sandbox, or none where it does not work. */
async function openBest(mode: NonNullable<WorldOptions['sandbox']>, home: string) {
  const opened = await openSandbox({ mode, hidden: [home] });
  return opened.sandbox ? opened : openSandbox({ mode: 'none' });
}

/** A manual clock that follows the machine's, so that no two things happen at one moment; a test may still move it on. */
function letTimePass(clock: ManualClock): void {
  let last = performance.now();
  const beat = setInterval(() => {
    const now = performance.now();
    clock.advance(Math.floor(now - last));
    last += Math.floor(now - last);
  }, 5);
  onTestFinished(() => clearInterval(beat));
}

type Base = Pick<World, 'app' | 'ctx' | 'clock' | 'folder' | 'caller'>;

function withWords(base: Base) {
  const { app, ctx, clock, folder, caller } = base;
  const db = ctx.store.read;
  const loops = ['tasks', 'pull-requests', 'sessions', 'feedback', 'budgets'];
  const until = async <T>(what: string, probe: () => Promise<T | undefined | false>, withinMs = 90_000): Promise<T> => {
    const deadline = performance.now() + withinMs;
    for (;;) {
      const found = await probe();
      if (found !== undefined && found !== false) return found;
      if (performance.now() > deadline) throw new Error(`timed out: ${what}\n${await lastEvents(ctx)}`);
      await new Promise((wake) => setTimeout(wake, 40));
    }
  };
  const world = {
    ...base,
    until,
    async addAgent(codename: string, family: string, role: 'author' | 'reviewer') {
      const command = [node, ...agentFiles.slice(0, 1), role, ...agentFiles.slice(1)];
      mustOk(await app.work.addAgent(caller(), { codename, family, roles: [role], driver: 'acp', command }));
    },
    checkout: (name = 'app') => makeMakeRepository(join(folder, name)),
    async run(path: string, title: string, words: Words, more: Partial<RunRequest> = {}) {
      const lines = Object.entries(words).map(([role, turns]) => `${role}: ${JSON.stringify(turns)}`);
      const request = [title, ...lines].join('\n');
      const view = mustOk(await app.work.run(caller(), { repository: path, request, withChanges: false, ...more }));
      if (view.waitsFor) mustOk(await app.decisions.settle(caller(), view.waitsFor, { verdict: 'approve' }));
      return view;
    },
    async pass(ms: number) {
      clock.advance(ms);
      await ctx.store.tx(async (tx) => {
        for (const topic of loops) tx.wake(topic);
      });
    },
    async sessions(run: RunView, role?: string) {
      let rows = db
        .selectFrom('session')
        .select('id')
        .where('project_id', '=', run.project.id)
        .orderBy('created_at')
        .orderBy('id');
      if (role !== undefined) rows = rows.where('role', '=', role as 'author');
      const ids = (await rows.execute()).map(({ id }) => id);
      return Promise.all(ids.map(async (id) => mustOk(await app.sessions.show(caller(), id))));
    },
    session: (run: RunView, role: string, wanted: (session: SessionView) => boolean) =>
      until(`${role} session as ${wanted}`, async () => (await world.sessions(run, role)).findLast(wanted)),
    pull: (run: RunView, wanted: (pull: PullRequestView) => boolean = () => true) =>
      until(`pull request as ${wanted}`, async () => {
        const all = mustOk(await app.review.listPullRequests(caller(), { limit: 100 }));
        return all.items.find((one) => one.taskId === run.task.id && wanted(one));
      }),
    decision: (run: RunView, kind: string) =>
      until(`decision ${kind}`, async () => {
        const open = mustOk(await app.decisions.list(caller(), { limit: 100, kind }));
        return open.items.find((one) => one.projectId === run.project.id);
      }),
    cli: (argv: string[], io: Partial<CliIo> = {}) => runProgram(ctx, argv, io),
    async said(sessionId: string) {
      const page = mustOk(await app.sessions.transcript(caller(), sessionId, { limit: 2000, raw: true, waitMs: 0 }));
      return JSON.stringify(page);
    },
  };
  return world;
}

/** Runs the program in this process, as `main.ts` does. */
async function runProgram(
  ctx: AppContext,
  argv: string[],
  io: Partial<CliIo> = {},
): Promise<{ exitCode: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const exitCode = await runCli(argv, {
    cwd: '/',
    out: (text) => void (out += text),
    err: (text) => void (err += text),
    readStdin: async () => '',
    hasTerminal: () => false,
    signal: new AbortController().signal,
    ...io,
    env: { CHANTIER_HOME: ctx.paths.home, CHANTIER_AUTOSTART: 'false', ...io.env },
  });
  return { exitCode, out, err };
}

/** What happened last, for whoever reads a failure. */
async function lastEvents(ctx: AppContext): Promise<string> {
  const rows = await ctx.store.read
    .selectFrom('event')
    .select(['kind', 'facts'])
    .orderBy('ord', 'desc')
    .limit(25)
    .execute();
  return rows
    .toReversed()
    .map((row) => `${row.kind} ${row.facts.slice(0, 300)}`)
    .join('\n');
}
