import { join, normalize } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import { systemPath } from '../../sandbox/index.ts';
import { searchProgram } from '../git/index.ts';
import type { InSandbox, WorkFolder } from './work-folder.ts';

/**
 * The command with its program as absolute path: names are looked up in the toolchains and the system's folders, paths with
 * a slash inside the clone (relative to `cwd`). Refuses `program_missing` with the name.
 */
export function resolveProgram(
  folder: WorkFolder,
  inside: Pick<InSandbox, 'toolchains'>,
  argv: readonly string[],
  cwd = folder.clone,
): Result<string[]> {
  const [program = '', ...rest] = argv;
  if (program.startsWith('/')) return ok([program, ...rest]);
  if (program.includes('/')) {
    const path = normalize(join(cwd, program));
    if (path.startsWith(`${folder.clone}/`)) return ok([path, ...rest]);
    return refuse(
      'invalid',
      'program_outside',
      `${program} lies outside of the repository; name it by its name or its absolute path.`,
      { program },
    );
  }
  const folders = [...(inside.toolchains ?? []).map((toolchain) => toolchain.bin), ...systemPath];
  const found = searchProgram(program, folders.join(':'));
  if (found) return ok([found, ...rest]);
  return refuse(
    'invalid',
    'program_missing',
    `${program} is not installed on this machine (looked in ${folders.join(', ')}). Install it, or add its folder to the toolchains.`,
    {
      program,
    },
  );
}
