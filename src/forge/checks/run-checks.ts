import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join, matchesGlob } from 'node:path';

import { digestOf, ok, refuse, type Result } from '../../kernel/index.ts';
import { runInSandbox } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import type { ForgeRepository } from '../repository.ts';
import type { CheckDefinition, RepositoryConfig } from '../repository-config.ts';
import {
  configuredEnvironment,
  type InSandbox,
  type WorkFolder,
  workFolderEnvironment,
  workFolderProfile,
} from '../work-folders/work-folder.ts';
import { resolveProgram } from '../work-folders/resolve-program.ts';

/** How one check ended. */
export interface CheckResult {
  name: string;
  /** `skipped`: none of its paths changed. */
  status: 'passed' | 'failed' | 'timed-out' | 'skipped';
  exitCode: number | null;
  durationMs: number;
  /** Whole output, up to the check's cap; `undefined` when it did not run. */
  logPath: string | undefined;
  /** The end of the output, untrusted text. */
  tail: string;
  definitionDigest: string;
}

/** The checks of one commit. */
export interface CheckReport {
  /** `none`: the team said that there are no checks. */
  said: 'none' | 'checks';
  commit: string;
  results: CheckResult[];
  allPassed: boolean;
}

/**
 * Runs a repository's checks in order in a prepared work folder at `commit`, each in the sandbox profile `check`, without
 * tokens, and without network unless its definition says so. All of them run, so that an author sees everything at once; an
 * interrupted run starts again at the first one without a result. The definition is the base's (`repository.config`).
 * Refuses `no_checks` when neither checks nor `checks: none` were said (field case 6), and `not_trusted`.
 */
export async function runChecks(
  forge: Forge,
  repository: ForgeRepository & { config: RepositoryConfig; isTrusted: boolean; name: string },
  folder: WorkFolder,
  request: InSandbox & {
    /** Names this run; the same key gives the same results again. */
    key: string;
    commit: string;
    changedPaths: readonly string[];
    /** Used by checks with `network: true`; without it they run without network. */
    signal?: AbortSignal;
    onResult?: (result: CheckResult) => void;
  },
): Promise<Result<CheckReport>> {
  const { checks } = repository.config;
  if (!repository.isTrusted)
    return refuse(
      'proof-required',
      'not_trusted',
      `The checks of repository ${repository.name} are not trusted yet. Look at them with \`chantier trust\`, then try again.`,
    );
  if (checks === 'none') return ok({ said: 'none', commit: request.commit, results: [], allPassed: true });
  if (checks.length === 0)
    return refuse(
      'not-landed',
      'no_checks',
      `No checks are known for repository ${repository.name}. Name them under \`checks\` in chantier.yml, or say \`checks: none\`.`,
    );
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]{0,199}$/.test(request.key)) throw new Error(`not a key of checks: ${request.key}`);
  const logs = join(forge.folders.logs, 'checks', request.key);
  await mkdir(logs, { recursive: true, mode: 0o700 });
  const results: CheckResult[] = [];
  for (const [at, check] of checks.entries()) {
    const result = await once(join(logs, `${at + 1}.json`), digestOf(check), () =>
      runOne(forge, repository, folder, request, check, join(logs, `${at + 1}-${check.name}.log`)),
    );
    if (!result.ok) return result;
    results.push(result.value);
    request.onResult?.(result.value);
  }
  const allPassed = results.every((result) => result.status === 'passed' || result.status === 'skipped');
  return ok({ said: 'checks', commit: request.commit, results, allPassed });
}

/** Whether a check with these `paths` applies to a change of `changedPaths`. */
export function appliesTo(check: Pick<CheckDefinition, 'paths'>, changedPaths: readonly string[]): boolean {
  const { paths } = check;
  if (paths === undefined) return true;
  return changedPaths.some((path) => paths.some((glob) => glob === '**' || matchesGlob(path, glob)));
}

async function runOne(
  forge: Forge,
  repository: ForgeRepository & { config: RepositoryConfig },
  folder: WorkFolder,
  request: Parameters<typeof runChecks>[3],
  check: CheckDefinition,
  outputPath: string,
): Promise<Result<CheckResult>> {
  const definitionDigest = digestOf(check);
  const facts = { name: check.name, definitionDigest };
  if (!appliesTo(check, request.changedPaths))
    return ok({ ...facts, status: 'skipped', exitCode: null, durationMs: 0, logPath: undefined, tail: '' });
  const cwd = check.cwd ? join(folder.clone, check.cwd) : folder.clone;
  const command = resolveProgram(folder, request, check.run, cwd);
  if (!command.ok) return command;
  const inside = check.network ? request : { ...request, network: { kind: 'none' } as const };
  const env = workFolderEnvironment(folder, {
    inside,
    env: configuredEnvironment(repository.config, folder),
    set: { CI: '1' },
  });
  const memory = check.memory === undefined ? {} : { memoryBytes: check.memory };
  const profile = workFolderProfile('check', repository, folder, { inside, env, cwd, ...memory });
  const outcome = await forge.slots.run(() =>
    runInSandbox(request.sandbox, profile, command.value, {
      timeoutMs: check.timeout,
      maxOutputBytes: check.maxOutput,
      tailBytes: 8000,
      outputPath,
      ...(request.signal ? { signal: request.signal } : {}),
    }),
  );
  if (outcome.aborted)
    return refuse(
      'wrong-state',
      'checks_stopped',
      `Check ${check.name} was stopped before it ended; run the checks again.`,
    );
  const status = outcome.timedOut ? 'timed-out' : outcome.exitCode === 0 ? 'passed' : 'failed';
  return ok({
    ...facts,
    status,
    exitCode: outcome.exitCode,
    durationMs: Math.round(outcome.durationMs),
    logPath: outputPath,
    tail: outcome.outputTail,
  });
}

/** The result in `file` when it is of this definition, else the one that `fn` makes, written by rename. */
async function once(
  file: string,
  digest: string,
  fn: () => Promise<Result<CheckResult>>,
): Promise<Result<CheckResult>> {
  const known = await readFile(file, 'utf8').then(
    (text) => JSON.parse(text) as CheckResult,
    () => undefined,
  );
  if (known?.definitionDigest === digest) return ok(known);
  const made = await fn();
  if (!made.ok) return made;
  await writeFile(`${file}.new`, JSON.stringify(made.value), { mode: 0o600 });
  await rename(`${file}.new`, file);
  return made;
}
