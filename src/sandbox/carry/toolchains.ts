import { existsSync } from 'node:fs';
import { isAbsolute, join, dirname } from 'node:path';

import { isWithin } from '../bubblewrap/plan-mounts.ts';

/** Folders of version managers in a home, without those that hold log-ins (`.cargo/credentials.toml`, `.npmrc`, `.docker`). */
const toolchainFolders: readonly string[] = [
  '.asdf',
  '.bun/bin',
  '.cargo/bin',
  '.deno/bin',
  '.fnm',
  '.local/bin',
  '.local/lib',
  '.local/share/claude',
  '.local/share/fnm',
  '.local/share/mise',
  '.local/share/pnpm',
  '.local/share/uv/python',
  '.npm-global',
  '.nvm/versions',
  '.pyenv',
  '.rbenv',
  '.rustup',
  '.sdkman/candidates',
  '.volta/bin',
  '.volta/tools',
  'go/bin',
];

/** Where a tool finds its folder, once HOME is another. */
const toolchainVariables: Readonly<Record<string, string>> = {
  ASDF_DATA_DIR: '.asdf',
  MISE_DATA_DIR: '.local/share/mise',
  PYENV_ROOT: '.pyenv',
  RBENV_ROOT: '.rbenv',
  RUSTUP_HOME: '.rustup',
  SDKMAN_DIR: '.sdkman',
  UV_PYTHON_INSTALL_DIR: '.local/share/uv/python',
};

export interface CarriedToolchains {
  /** Existing folders, to be shown read-only at the same path. */
  readOnly: string[];
  /** Folders of the operator's PATH that lie in them, in the operator's order. */
  path: string[];
  env: Record<string, string>;
}

/** Finds the toolchains of the operator's home, and the Node that runs this server, which agents' bridges need too. */
export function findToolchains(
  operatorHome: string,
  operatorPath: string = process.env.PATH ?? '',
  runtime: string = process.execPath,
): CarriedToolchains {
  const readOnly = toolchainFolders.map((name) => join(operatorHome, name)).filter((path) => existsSync(path));
  const runtimeFolder = dirname(runtime);
  if (!isSystem(runtimeFolder) && !readOnly.some((path) => isWithin(runtimeFolder, path))) readOnly.push(runtimeFolder);
  const path = operatorPath
    .split(':')
    .filter((folder) => isAbsolute(folder) && readOnly.some((carried) => isWithin(folder, carried)));
  const env = Object.fromEntries(
    Object.entries(toolchainVariables)
      .map(([name, folder]) => [name, join(operatorHome, folder)] as const)
      .filter(([, folder]) => readOnly.some((carried) => isWithin(carried, folder))),
  );
  return { readOnly, path: [...new Set(path)], env };
}

function isSystem(folder: string): boolean {
  return ['/usr', '/opt', '/bin', '/nix/store', '/gnu/store'].some((system) => isWithin(folder, system));
}
