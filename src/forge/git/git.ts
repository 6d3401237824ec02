import { execFile } from 'node:child_process';
import { accessSync, constants, statSync } from 'node:fs';
import { isAbsolute, join } from 'node:path';
import { promisify } from 'node:util';

import { ok, refuse, type Result } from '../../kernel/index.ts';

/** The git program that the server uses: absolute path and version as found at start. */
export interface Git {
  readonly path: string;
  readonly version: string;
}

/** Oldest git that can merge without a work tree (`merge-tree --write-tree`). Source: design section 2. */
export const oldestGit = '2.38.0';

/**
 * Finds git and checks its version. `path` (absolute) overrides the search in the absolute folders of `searchPath`
 * (default: this process's PATH). Refuses `git_missing` and `git_too_old` with what to do.
 */
export async function findGit(options: { path?: string; searchPath?: string } = {}): Promise<Result<Git>> {
  const found = options.path ?? searchProgram('git', options.searchPath ?? process.env.PATH ?? '');
  if (!found)
    return refuse(
      'invalid',
      'git_missing',
      `git was not found on PATH. Install git ${oldestGit} or newer, then try again.`,
    );
  let output: string;
  try {
    const run = promisify(execFile);
    output = (await run(found, ['--version'], { cwd: '/', env: { PATH: '/usr/bin:/bin' }, timeout: 10_000 })).stdout;
  } catch (error) {
    const cause = error instanceof Error ? error.message.split('\n')[0] : String(error);
    return refuse('invalid', 'git_missing', `${found} does not run (${cause}). Install git ${oldestGit} or newer.`);
  }
  const version = /(\d+)\.(\d+)(?:\.(\d+))?/.exec(output)?.[0];
  if (!version || isOlder(version, oldestGit)) {
    const seen = version ?? output.trim().slice(0, 80);
    return refuse(
      'invalid',
      'git_too_old',
      `${found} is version ${seen}; Chantier needs git ${oldestGit} or newer. Upgrade git, then try again.`,
      {
        found: seen,
        needed: oldestGit,
      },
    );
  }
  return ok({ path: found, version });
}

/** Path of `name` in the first absolute folder of `searchPath` that has it executable; relative folders are skipped. */
export function searchProgram(name: string, searchPath: string): string | undefined {
  for (const folder of searchPath.split(':')) {
    if (!isAbsolute(folder)) continue;
    const candidate = join(folder, name);
    try {
      accessSync(candidate, constants.X_OK);
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // Not in this folder; the next one may have it.
    }
  }
  return undefined;
}

function isOlder(version: string, than: string): boolean {
  const left = version.split('.').map(Number);
  const right = than.split('.').map(Number);
  for (let at = 0; at < 3; at++) {
    const difference = (left[at] ?? 0) - (right[at] ?? 0);
    if (difference !== 0) return difference < 0;
  }
  return false;
}
