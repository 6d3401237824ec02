import { readFileSync } from 'node:fs';
import { join } from 'node:path';

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
  /** To be written as `.npmrc` into the private home; empty when there is nothing to carry. */
  npmrc: string;
}

/** Finds toolchains, certificate authorities and the harmless part of `.npmrc` of the operator whose home this is. */
export function carryIn(
  operatorHome: string,
  env: Readonly<Record<string, string | undefined>> = process.env,
): CarriedIn {
  const toolchains = findToolchains(operatorHome, env.PATH);
  const authorities = findAuthorities(env);
  const npmrc = filterNpmrc(readText(join(operatorHome, '.npmrc')));
  return {
    readOnly: [...new Set([...toolchains.readOnly, ...authorities.readOnly, ...authoritiesOfNpmrc(npmrc)])],
    path: toolchains.path,
    env: { ...toolchains.env, ...authorities.env },
    npmrc,
  };
}

function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
