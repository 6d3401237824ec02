import { execFile } from 'node:child_process';
import { accessSync, constants, mkdirSync, statSync } from 'node:fs';
import { promisify } from 'node:util';

import type { InstancePaths } from '../config/index.ts';
import type { DoctorReport } from '../wire/index.ts';

type Check = DoctorReport['checks'][number];

/** What can be checked without a server: Node, git, the home, the sandbox's probe. */
export async function examineMachine(paths: InstancePaths, env: NodeJS.ProcessEnv): Promise<Check[]> {
  return [nodeCheck(), await gitCheck(env), homeCheck(paths), ...(await sandboxCheck())];
}

function nodeCheck(): Check {
  const isNew = Number(process.versions.node.split('.')[0]) >= 24;
  return {
    name: 'node',
    status: isNew ? 'ok' : 'fail',
    message: `Node ${process.versions.node}`,
    cure: isNew ? null : 'Install Node 24 or newer, or run "npm install" in the package.',
  };
}

/** The oldest git whose `merge-tree --write-tree` and safe options we rely on. */
const oldestGit = [2, 38] as const;

async function gitCheck(env: NodeJS.ProcessEnv): Promise<Check> {
  try {
    const { stdout } = await promisify(execFile)('git', ['--version'], { env: { PATH: env.PATH ?? '/usr/bin:/bin' } });
    const [major = 0, minor = 0] = (/(\d+)\.(\d+)/.exec(stdout)?.slice(1) ?? []).map(Number);
    const isNew = major > oldestGit[0] || (major === oldestGit[0] && minor >= oldestGit[1]);
    return {
      name: 'git',
      status: isNew ? 'ok' : 'fail',
      message: stdout.trim(),
      cure: isNew ? null : `Install git ${oldestGit.join('.')} or newer.`,
    };
  } catch {
    return { name: 'git', status: 'fail', message: 'git was not found in PATH.', cure: 'Install git 2.38 or newer.' };
  }
}

function homeCheck(paths: InstancePaths): Check {
  try {
    mkdirSync(paths.home, { recursive: true, mode: 0o700 });
    accessSync(paths.home, constants.R_OK | constants.W_OK | constants.X_OK);
    const mode = statSync(paths.home).mode & 0o777;
    const isPrivate = (mode & 0o077) === 0;
    return {
      name: 'home',
      status: isPrivate ? 'ok' : 'warn',
      message: `${paths.home} (mode ${mode.toString(8)})`,
      cure: isPrivate ? null : `Others can look into it: chmod 700 ${paths.home}`,
    };
  } catch (error) {
    return {
      name: 'home',
      status: 'fail',
      message: `${paths.home} cannot be written: ${(error as Error).message}`,
      cure: 'Make it writable, free disk space, or set CHANTIER_HOME.',
    };
  }
}

async function sandboxCheck(): Promise<Check[]> {
  const { openSandbox } = await import('../sandbox/index.ts');
  try {
    const { report } = await openSandbox({ mode: 'auto' });
    const message = report.holds
      ? `${report.driver} holds: no agent can decide.`
      : `${report.driver} does not hold: ${report.cause ?? 'unknown cause'}`;
    return [
      {
        name: 'sandbox',
        status: report.holds ? 'ok' : 'warn',
        message,
        cure: report.holds ? null : (report.cure ?? null),
      },
    ];
  } catch (error) {
    return [{ name: 'sandbox', status: 'warn', message: (error as Error).message, cure: null }];
  }
}
