import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Fault, newId, type Clock, systemClock } from '../kernel/index.ts';
import { askToEnd, findByRunMarker, killTree, runMarkerName, sweepRun } from './end-processes.ts';
import { captureOutput } from './capture-output.ts';
import type { Sandbox, SandboxProfile, WrappedCommand } from './profile.ts';

export interface RunOptions {
  /** After this the command is asked to end, and killed `graceMs` later. */
  timeoutMs: number;
  /** How long a command may take to end after it was asked. Default 2 000 ms. */
  graceMs?: number;
  /** The whole output (stdout and stderr as they come) goes to this file, up to `maxOutputBytes`; made with mode 0600. */
  outputPath?: string;
  /** Default 64 MiB. The command goes on when it is reached; the rest is counted and dropped. */
  maxOutputBytes?: number;
  /** Length of `outputTail`. Default 64 KiB. */
  tailBytes?: number;
  /** Given to the command's stdin, which is then closed. Default: an empty stdin. */
  input?: string | Uint8Array;
  /** Aborting is as a time-out: asked, then killed. */
  signal?: AbortSignal;
  /** Where arguments and filter are written; private, outside every sandbox. Default: a temporary folder, removed afterwards. */
  stateFolder?: string;
  clock?: Clock;
}

export interface RunOutcome {
  /** `null` when a signal ended the command. */
  exitCode: number | null;
  signal: NodeJS.Signals | null;
  timedOut: boolean;
  aborted: boolean;
  /** The last `tailBytes` of the output, invalid UTF-8 replaced. */
  outputTail: string;
  /** All bytes that the command wrote, those beyond `maxOutputBytes` included. */
  outputBytes: number;
  durationMs: number;
  /** Processes that outlived the command and were killed by their marker; 0 wherever a sandbox holds. */
  survivors: number;
}

/**
 * Runs one command of a check, a set-up step or the like to its end inside `sandbox`. The process tree never outlives the
 * call: group kill on time-out and abort, then a sweep by the run's marker. Throws `Fault` when the command could not be
 * started at all; a command that fails is an outcome.
 */
export async function runInSandbox(
  sandbox: Sandbox,
  profile: SandboxProfile,
  command: readonly string[],
  options: RunOptions,
): Promise<RunOutcome> {
  const runId = profile.env[runMarkerName] ?? newId<string>();
  const stateFolder = options.stateFolder ?? (await mkdtemp(join(tmpdir(), 'chantier-run-')));
  let files: readonly string[] = [];
  try {
    const marked = { ...profile, env: { ...profile.env, [runMarkerName]: runId } };
    const wrapped = await sandbox.wrap(marked, command, stateFolder);
    files = wrapped.openFiles.map(({ path }) => path);
    return await runWrapped(wrapped, runId, options);
  } finally {
    // The arguments hold the whole environment, keys included.
    for (const path of files) await rm(path, { force: true });
    if (options.stateFolder === undefined) await rm(stateFolder, { recursive: true, force: true });
  }
}

async function runWrapped(wrapped: WrappedCommand, runId: string, options: RunOptions): Promise<RunOutcome> {
  const clock = options.clock ?? systemClock;
  const started = clock.monotonic();
  const child = startWrapped(wrapped);
  const output = captureOutput([child.stdout!, child.stderr!], options);
  const stop = stopOnTimeout(child, options);
  child.stdin!.on('error', () => {}); // a command that does not read its stdin is no fault
  child.stdin!.end(options.input ?? '');
  const { exitCode, signal } = await exitOf(child).finally(stop.clear);
  if (child.pid !== undefined) killTree(child.pid);
  const survivors = await countSurvivors(runId);
  const { tail, bytes } = await output.finish();
  return {
    exitCode,
    signal,
    timedOut: stop.reason() === 'timeout',
    aborted: stop.reason() === 'abort',
    outputTail: tail,
    outputBytes: bytes,
    durationMs: clock.monotonic() - started,
    survivors,
  };
}

/**
 * Starts a wrapped command in a process group of its own, with pipes as its three standard descriptors and its files
 * open where it expects them. Call it from the main thread only.
 */
export function startWrapped(wrapped: WrappedCommand): ChildProcess {
  const [program, ...args] = wrapped.argv;
  if (program === undefined) throw new Error('a wrapped command has no program');
  const opened = wrapped.openFiles.map(({ fd, path }) => ({ fd, outside: openSync(path, 'r') }));
  try {
    const stdio: ('pipe' | number | undefined)[] = ['pipe', 'pipe', 'pipe'];
    for (const { fd, outside } of opened) stdio[fd] = outside;
    const options = { env: wrapped.env, cwd: wrapped.cwd, detached: true };
    return spawn(program, args, { ...options, stdio: Array.from(stdio, (entry) => entry ?? null) });
  } finally {
    for (const { outside } of opened) closeSync(outside);
  }
}

/** Kills what outlives the command. The outermost bubblewrap may end a moment before pid 1 inside has taken all with it. */
async function countSurvivors(runId: string): Promise<number> {
  for (let tries = 0; tries < 20 && findByRunMarker(runId).length > 0; tries += 1)
    await new Promise((resolve) => setTimeout(resolve, 10));
  return sweepRun(runId);
}

function exitOf(child: ChildProcess): Promise<{ exitCode: number | null; signal: NodeJS.Signals | null }> {
  return new Promise((resolve, reject) => {
    child.once('error', (cause) =>
      reject(new Fault('command_not_started', `${child.spawnfile} could not be started: ${cause.message}`, { cause })),
    );
    child.once('exit', (exitCode, signal) => resolve({ exitCode, signal }));
  });
}

/** Asks the child to end when time is up or the caller aborts, and kills it when it does not within the grace time. */
function stopOnTimeout(child: ChildProcess, options: RunOptions) {
  let reason: 'timeout' | 'abort' | undefined;
  let graceTimer: NodeJS.Timeout | undefined;
  const stop = (why: 'timeout' | 'abort'): void => {
    if (reason !== undefined || child.pid === undefined) return;
    reason = why;
    const { pid } = child;
    askToEnd(pid);
    graceTimer = setTimeout(() => killTree(pid), options.graceMs ?? 2_000);
  };
  const timer = setTimeout(() => stop('timeout'), options.timeoutMs);
  const abort = (): void => stop('abort');
  options.signal?.addEventListener('abort', abort, { once: true });
  if (options.signal?.aborted) abort();
  const clear = (): void => {
    clearTimeout(timer);
    clearTimeout(graceTimer);
    options.signal?.removeEventListener('abort', abort);
  };
  return { reason: () => reason, clear };
}
