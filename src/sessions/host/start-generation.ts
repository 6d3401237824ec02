import { type ChildProcess, spawn } from 'node:child_process';
import { accessSync, constants, existsSync, statSync } from 'node:fs';
import { mkdir, rename, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join } from 'node:path';

import { Fault, refuse, systemClock } from '../../kernel/index.ts';
import type { Clock, Result } from '../../kernel/index.ts';
import { runMarkerName } from '../../sandbox/index.ts';
import type { WrappedCommand } from '../../sandbox/index.ts';
import { filesOf, generationVersion, runMarker } from './generation-files.ts';
import type { BirthRecord, GenerationFiles } from './generation-files.ts';
import { openGeneration } from './generation.ts';
import type { Generation } from './generation.ts';
import { commandInScope, findOwnScope, type OwnScope } from './own-scope.ts';
import { buildWrapperScript } from './wrapper-script.ts';

/** What is started. */
export interface GenerationSpec {
  /** `pathsOf(home).sessions`. */
  sessionsFolder: string;
  sessionId: string;
  /** Counts process starts of the session, from 1. */
  generation: number;
  /** From `Sandbox.wrap`; its environment is the whole environment, its files are opened before the agent is executed. */
  command: WrappedCommand;
  clock?: Clock;
  /** Default: what the machine has. */
  scope?: OwnScope;
}

/** Where the files of a generation lie. */
export function generationFolder(sessionsFolder: string, sessionId: string, generation: number): string {
  return join(sessionsFolder, sessionId, String(generation));
}

/**
 * Starts the agent of one generation under its wrapper and does not wait for it: `look()` says when it runs. Making the
 * folder is the key of the effect: a second start of the same generation is refused (`generation_exists`; adopt it with
 * `openGeneration`). Throws `Fault` `command_missing` or `cwd_missing` before anything is made.
 */
export async function startGeneration(spec: GenerationSpec): Promise<Result<Generation>> {
  checkCommand(spec.command);
  const folder = generationFolder(spec.sessionsFolder, spec.sessionId, spec.generation);
  const run = runMarker(spec.sessionId, spec.generation);
  await mkdir(dirname(folder), { recursive: true, mode: 0o700 });
  try {
    await mkdir(folder, { mode: 0o700 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    return refuse(
      'duplicate',
      'generation_exists',
      `${run} was started before; adopt it or start the next generation.`,
      {
        run,
      },
    );
  }
  const files = filesOf(folder);
  const clock = spec.clock ?? systemClock;
  await writeFiles(files, run, clock.now(), spec.command);
  const env = { ...spec.command.env, [runMarkerName]: run };
  const scope = spec.scope ?? (await findOwnScope());
  await (scope ? spawnInScope(scope, files, run, env) : spawnWrapper(['/bin/sh', files.script], env));
  return openGeneration(folder, { clock });
}

/** Says in time what `exec` could only say by a code. */
function checkCommand(command: WrappedCommand): void {
  const program = command.argv[0] ?? '';
  if (!isAbsolute(program) || !isExecutable(program))
    throw new Fault(
      'command_missing',
      `"${program}" is not an executable file; name the agent's command by its absolute path`,
    );
  if (!isFolder(command.cwd))
    throw new Fault('cwd_missing', `the working directory ${command.cwd} does not exist; set up the work folder first`);
}

async function writeFiles(files: GenerationFiles, run: string, nowMs: number, command: WrappedCommand): Promise<void> {
  const birth: BirthRecord = { version: generationVersion, run, startedAtMs: nowMs };
  const mode = 0o600;
  await writeFile(`${files.birth}.new`, JSON.stringify(birth), { mode });
  await rename(`${files.birth}.new`, files.birth);
  await writeFile(files.script, buildWrapperScript(files, command), { mode });
  for (const path of [files.inbox, files.journal]) await writeFile(path, '', { mode, flag: 'a' });
}

/**
 * In a scope of its own, where systemd makes one. `systemd-run` becomes the wrapper; when it fails instead (its manager went
 * away), nothing has been started, and the wrapper is started without it.
 */
async function spawnInScope(
  scope: OwnScope,
  files: GenerationFiles,
  run: string,
  env: Record<string, string>,
): Promise<void> {
  const wrapper = await spawnWrapper(commandInScope(scope, run, files.script), { ...env, ...scope.env });
  wrapper.once('exit', (code) => {
    const hasStarted = existsSync(files.pid) || existsSync(`${files.folder}/stdin`);
    if (code !== 0 && code !== null && !hasStarted) spawnWrapper(['/bin/sh', files.script], env).catch(() => undefined); // START_FAILED tells it
  });
}

/** A session of its own (setsid), no descriptor but /dev/null, nothing of our environment. */
function spawnWrapper([program = '', ...args]: string[], env: Record<string, string>): Promise<ChildProcess> {
  const wrapper = spawn(program, args, { cwd: '/', env, detached: true, stdio: 'ignore' });
  wrapper.unref();
  return new Promise((resolve, reject) => {
    wrapper.once('spawn', () => resolve(wrapper));
    wrapper.once('error', (cause) =>
      reject(new Fault('spawn_failed', `${program} could not be started`, { retryable: true, cause })),
    );
  });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory();
  } catch {
    return false;
  }
}
