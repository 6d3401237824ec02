import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { systemPath } from '../environment.ts';

/** The absolute path of `name` in the system's own folders; a PATH that somebody else wrote is not asked. */
export function findSystemProgram(name: string): string | undefined {
  return systemPath.map((folder) => join(folder, name)).find(isExecutable);
}

/** The version that `bwrap --version` prints, such as `0.8.0`. */
export async function bubblewrapVersion(program: string): Promise<string | undefined> {
  const { stdout } = await promisify(execFile)(program, ['--version'], { env: {}, timeout: 5_000 });
  return /(\d+\.\d+(?:\.\d+)?)/.exec(stdout)?.[1];
}

/** Whether `version` is at least 0.8, the first with `--disable-userns`. */
export function isNewEnough(version: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major > 0 || minor >= 8;
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
