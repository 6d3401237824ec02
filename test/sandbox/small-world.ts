import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { onTestFinished } from 'vitest';

import {
  buildEnvironment,
  giveToOwner,
  openSandbox,
  runInSandbox,
  type RunOptions,
  type Sandbox,
  type SandboxProfile,
} from '../../src/sandbox/index.ts';

const opened = await openSandbox({ mode: 'auto' });

/** Why tests that need a real sandbox do not run here; empty when they do. Belongs into the name of what is skipped. */
export const cannotRun = opened.sandbox ? '' : ` (not run: ${opened.report.cause} ${opened.report.cure ?? ''})`;

/** A fresh session in the sandbox of this machine: folders, profile, and a way to run commands in it. */
export async function makeSmallWorld(change: Partial<SandboxProfile> = {}, sandbox: Sandbox = opened.sandbox!) {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'sandbox-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const [clone, home, state] = ['clone', 'home', 'state'].map((name) => join(base, name)) as [string, string, string];
  for (const folder of [clone, home, state]) mkdirSync(folder, { mode: 0o700 });
  await giveToOwner(sandbox.owner, [clone, home]);
  const profile: SandboxProfile = {
    kind: 'check',
    workFolder: clone,
    workFolderAccess: 'read-write',
    home,
    readOnly: [],
    writable: [],
    socketFolders: [],
    env: buildEnvironment({ home }),
    cwd: clone,
    network: { kind: 'none' },
    limits: {},
    ...change,
  };
  const run = (command: readonly string[], options: Partial<RunOptions> = {}) =>
    runInSandbox(sandbox, profile, command, { timeoutMs: 15_000, stateFolder: state, ...options });
  const shell = (text: string, options: Partial<RunOptions> = {}) => run(['/bin/sh', '-c', text], options);
  return { base, clone, home, state, sandbox, profile, run, shell };
}
