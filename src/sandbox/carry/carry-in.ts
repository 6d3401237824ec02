import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { findAuthorities } from './authorities.ts';
import { authoritiesOfNpmrc, filterNpmrc } from './npmrc.ts';
import { findToolchains } from './toolchains.ts';

/** What of the operator's own set-up is shown inside a sandbox, all of it read-only. */
export interface CarriedIn {
  /** For `SandboxProfile.readOnly`. */
  readOnly: string[];
  /** For `EnvironmentParts.path`. */
  path: string[];
  /** For `EnvironmentParts.set`. */
  env: Record<string, string>;
}

export interface CarryOptions {
  operatorHome: string;
  /** Default: the server's own environment. */
  env?: Readonly<Record<string, string | undefined>>;
  /** Where the harmless part of the operator's `.npmrc` is written, to be shown inside; outside of what agents may write. */
  npmrcFile?: string;
}

/** Finds toolchains, certificate authorities and the harmless part of `.npmrc` of the operator whose home this is. */
export function carryIn({ operatorHome, env = process.env, npmrcFile }: CarryOptions): CarriedIn {
  const toolchains = findToolchains(operatorHome, env.PATH);
  const authorities = findAuthorities(env);
  const npmrc = filterNpmrc(readText(join(operatorHome, '.npmrc')));
  const shown = npmrcFile !== undefined && npmrc !== '' ? npmrcFile : undefined;
  if (shown !== undefined) writeReadable(shown, npmrc);
  const files = [...authorities.readOnly, ...authoritiesOfNpmrc(npmrc), ...(shown === undefined ? [] : [shown])];
  return {
    readOnly: [...new Set([...toolchains.readOnly, ...files])],
    path: toolchains.path,
    env: { ...toolchains.env, ...authorities.env, ...(shown === undefined ? {} : { npm_config_userconfig: shown }) },
  };
}

/** For whatever user is inside, whatever the umask takes away. */
function writeReadable(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  writeFileSync(path, text, { mode: 0o644 });
  chmodSync(path, 0o644);
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
