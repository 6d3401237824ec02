import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Fault, newId } from '../kernel/index.ts';
import { findSystemProgram } from './bubblewrap/find-programs.ts';
import { runMarkerName } from './end-processes.ts';
import { buildEnvironment } from './environment.ts';
import type { Sandbox, SandboxProfile } from './profile.ts';
import { shellScriptOf } from './shell-script.ts';

export interface UploadPackOptions {
  /** The clone to take from; the same path inside. */
  workFolder: string;
  /** Object folders that the clone borrows from (its alternates). */
  readOnly?: readonly string[];
  /** Private folder outside every sandbox; the script is written into it. */
  stateFolder: string;
  /** Default: the system's git. */
  gitProgram?: string;
}

/**
 * Writes a script for `git fetch --upload-pack=<script> <workFolder>` that runs `git upload-pack` inside the sandbox, with the
 * clone read-only and no network: the clone's configuration, hooks and filters have no say outside. Returns its path.
 */
export async function writeUploadPack(sandbox: Sandbox, options: UploadPackOptions): Promise<string> {
  const git = options.gitProgram ?? findSystemProgram('git');
  if (!git) throw new Fault('git_missing', 'git is not installed; install git 2.38 or later.');
  const home = join(options.stateFolder, 'home');
  await mkdir(home, { recursive: true, mode: 0o700 });
  const profile: SandboxProfile = {
    kind: 'upload-pack',
    workFolder: options.workFolder,
    workFolderAccess: 'read-only',
    home,
    readOnly: options.readOnly ?? [],
    writable: [],
    socketFolders: [],
    env: buildEnvironment({ home: '/tmp', set: { ...gitVariables, [runMarkerName]: newId<string>() } }),
    cwd: '/',
    network: { kind: 'none' },
    limits: {},
  };
  const wrapped = await sandbox.wrap(profile, [git, 'upload-pack', options.workFolder], options.stateFolder);
  const script = join(options.stateFolder, 'upload-pack');
  await writeFile(script, shellScriptOf(wrapped), { mode: 0o700 });
  return script;
}

const gitVariables = {
  GIT_CONFIG_GLOBAL: '/dev/null',
  GIT_CONFIG_NOSYSTEM: '1',
  GIT_OPTIONAL_LOCKS: '0',
  GIT_NO_LAZY_FETCH: '1',
};
