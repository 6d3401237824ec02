import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import { runInSandbox } from '../../sandbox/index.ts';
import type { Forge } from '../forge.ts';
import { gitRecords, readStatus } from '../git/index.ts';
import { baseTip, isAncestor } from '../local/bare-repository.ts';
import type { ForgeRepository } from '../repository.ts';
import type { RepositoryConfig } from '../repository-config.ts';
import { copyOperatorFiles } from './copy-operator-files.ts';
import { fillSubmodules } from './fill-submodules.ts';
import { linkOperatorFiles } from './link-operator-files.ts';
import { withServerIndex } from './inspect-work-folder.ts';
import { resolveProgram } from './resolve-program.ts';
import { keepSetup, restoreSetup, setupKeyOf } from './setup-cache.ts';
import {
  configuredEnvironment,
  excludeFile,
  type InSandbox,
  type WorkFolder,
  workFolderEnvironment,
  workFolderProfile,
} from './work-folder.ts';

/** How a work folder became usable. */
export interface PreparedFolder {
  how: 'nothing-to-do' | 'from-cache' | 'ran';
  setupKey: string | undefined;
  /** Files that the team wanted copied from the operator's checkout. */
  copied: string[];
  /** Files of that kind that are larger than the bounds. */
  leftOut: string[];
  /** Paths that lead read-only into the operator's checkout (`workspace.link`). */
  linked: string[];
  /** Submodules whose files are there, and those whose commit the operator's checkout has not fetched. */
  submodules: { filled: string[]; missing: string[] };
  /** Tracked files that set-up altered; they show as uncommitted work. */
  alteredFiles: string[];
  durationMs: number;
  /** Folder of the logs, one file for each command. */
  logs: string;
}

/**
 * Runs the set-up of a repository in a fresh work folder, before any agent is there: from the cache where lockfiles and
 * commands are the same, else in the sandbox profile `setup`. Repeated, it gives the first answer. Refuses `setup_failed`
 * with the end of the log, `program_missing`, `not_trusted`.
 */
export async function prepareWorkFolder(
  forge: Forge,
  repository: ForgeRepository & { config: RepositoryConfig; isTrusted: boolean; name: string },
  folder: WorkFolder,
  inside: InSandbox & {
    signal?: AbortSignal;
    /** Runs the set-up though a kept one would fit. */
    withoutCache?: boolean;
  },
): Promise<Result<PreparedFolder>> {
  const marker = join(folder.root, 'prepared.json');
  const known = await readPrepared(folder);
  if (known) return ok(known);
  const { config } = repository;
  const logs = join(forge.folders.logs, 'setup', folder.ownerKey);
  const startedAt = forge.clock.monotonic();
  if (!repository.isTrusted)
    return refuse(
      'proof-required',
      'not_trusted',
      `The configuration of repository ${repository.name} is not trusted yet. Look at it with \`chantier trust\`, then try again.`,
    );
  const { copied, leftOut, named } = await copyOperatorFiles(forge, repository, folder, inside.sandbox);
  const linked = await linkOperatorFiles(repository, folder, inside.sandbox);
  const submodules = await fillSubmodules(forge, repository, folder, inside.sandbox);
  const setupKey = await setupKeyOf(forge, repository, config, folder.startCommit);
  let how: PreparedFolder['how'] = 'nothing-to-do';
  const mayRestore = setupKey !== undefined && !inside.withoutCache;
  if (mayRestore && (await restoreSetup(forge, folder, inside.sandbox, setupKey))) how = 'from-cache';
  else if (config.workspace.setup.length > 0) {
    const ran = await forge.slots.run(() => runSetup(repository, folder, inside, logs));
    if (!ran.ok) return ran;
    how = 'ran';
  }
  const ours = [...named, ...(config.workspace.link ?? [])];
  const isTouched = how !== 'nothing-to-do' || ours.length > 0;
  const made = isTouched
    ? await lookAtOutputs(forge, repository, folder, ours)
    : { outputs: [], altered: [], isMixed: false };
  if (how === 'ran' && setupKey && !made.isMixed && (await isBaseCommit(forge, repository, folder.startCommit)))
    await keepSetup(forge, folder, inside.sandbox, { key: setupKey, outputs: made.outputs });
  const durationMs = forge.clock.monotonic() - startedAt;
  const facts = { copied, leftOut, linked, submodules, alteredFiles: made.altered };
  const prepared: PreparedFolder = { how, setupKey, ...facts, durationMs, logs };
  await writeFile(`${marker}.new`, JSON.stringify(prepared));
  await rename(`${marker}.new`, marker);
  return ok(prepared);
}

/** How a folder became usable; `undefined` while it has not. */
export async function readPrepared(folder: Pick<WorkFolder, 'root'>): Promise<PreparedFolder | undefined> {
  const known = await readFile(join(folder.root, 'prepared.json'), 'utf8').catch(() => undefined);
  return known === undefined ? undefined : (JSON.parse(known) as PreparedFolder);
}

async function runSetup(
  repository: ForgeRepository & { config: RepositoryConfig },
  folder: WorkFolder,
  inside: InSandbox & { signal?: AbortSignal },
  logs: string,
): Promise<Result<undefined>> {
  const { setup, timeout } = repository.config.workspace;
  await mkdir(logs, { recursive: true, mode: 0o700 });
  const env = workFolderEnvironment(folder, {
    inside,
    env: configuredEnvironment(repository.config, folder),
    set: { CI: '1' },
  });
  const profile = workFolderProfile('setup', repository, folder, { inside, env });
  for (const [at, argv] of setup.entries()) {
    const command = resolveProgram(folder, inside, argv);
    if (!command.ok) return command;
    const outputPath = join(logs, `${at + 1}.log`);
    const outcome = await runInSandbox(inside.sandbox, profile, command.value, {
      timeoutMs: timeout,
      maxOutputBytes: 16 * 1024 ** 2,
      tailBytes: 4000,
      outputPath,
      ...(inside.signal ? { signal: inside.signal } : {}),
    });
    if (outcome.exitCode === 0 && !outcome.timedOut) continue;
    const how = outcome.timedOut
      ? `did not end within ${timeout / 1000} s`
      : `failed (${outcome.exitCode ?? outcome.signal})`;
    const tail = outcome.outputTail.trim().split('\n').slice(-12).join('\n');
    return refuse(
      'wrong-state',
      'setup_failed',
      `Set-up step ${at + 1} (${argv.join(' ')}) ${how}. Whole log: ${outputPath}\n${tail}`,
      {
        step: at + 1,
        command: argv,
        exitCode: outcome.exitCode,
        timedOut: outcome.timedOut,
        logPath: outputPath,
      },
    );
  }
  return ok();
}

/**
 * What set-up left behind: everything that is not tracked (ignored or not), but for `ours`, which came from the operator's
 * checkout and never enters the cache (`isMixed`: one untracked folder holds both kinds). What no `.gitignore` covers goes
 * into the folder's own exclude file, so that an agent does not commit it and it does not count as unsaved work.
 */
async function lookAtOutputs(
  forge: Forge,
  repository: ForgeRepository,
  folder: WorkFolder,
  ours: readonly string[],
): Promise<{ outputs: string[]; altered: string[]; isMixed: boolean }> {
  return withServerIndex(forge, repository, folder, folder.startCommit, async (place) => {
    const others = ['ls-files', '--others', '-z'];
    const outputs: string[] = [];
    let isMixed = false;
    for (const path of await gitRecords(forge.git, place, [...others, '--directory', '--no-empty-directory'])) {
      if (ours.includes(path)) continue;
      if (path.endsWith('/') && ours.some((one) => one.startsWith(path))) {
        const files = await gitRecords(forge.git, place, [...others, '--', path], { maxOutputBytes: 64 * 1024 ** 2 });
        if (files.every((file) => ours.includes(file))) continue;
        isMixed = true;
      }
      outputs.push(path);
    }
    const status = await readStatus(forge.git, place);
    if (status.untracked.length > 0) {
      const patterns = status.untracked.map((path) => `${asPattern(path)}\n`).join('');
      await writeFile(excludeFile(folder), patterns, { mode: 0o644 });
    }
    return { outputs, altered: status.unstaged, isMixed };
  });
}

/** A path as a pattern of git's exclude files that matches nothing else. */
function asPattern(path: string): string {
  return `/${path.replaceAll(/[\\*?[\]!# ]/g, (char) => `\\${char}`)}`;
}

async function isBaseCommit(forge: Forge, repository: ForgeRepository, commit: string): Promise<boolean> {
  const tip = await baseTip(forge, repository);
  return tip !== undefined && (await isAncestor(forge, repository, commit, tip));
}
