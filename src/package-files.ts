import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import type { Bridge, OwnTools } from './app/index.ts';
import { ensureRunFolder, type InstancePaths } from './config/index.ts';
import { toolsOf } from './mcp/index.ts';
import { createAgentDoors, type ServedDoors } from './server/index.ts';

/** The folder of the installed package: this file runs from `src/`, or bundled from `dist/`. */
export const packageRoot = findPackageRoot(import.meta.dirname);

const manifest = JSON.parse(readFileSync(join(packageRoot, 'package.json'), 'utf8')) as { version: string };

export const packageVersion = manifest.version;

const isBundled = import.meta.dirname !== join(packageRoot, 'src');

/** What agents may call of ours, of whatever role. */
export const ownTools: OwnTools = new Map(
  Object.values(toolsOf)
    .flat()
    .map(({ name, inputSchema }) => [name, new Set(Object.keys(inputSchema.properties ?? {}))]),
);

/** How agents start their tools inside, and which files that needs there. */
export function bridgeOf(paths: InstancePaths): Bridge & { doors: ServedDoors } {
  const entry = isBundled ? join(packageRoot, 'dist', 'cli.js') : join(packageRoot, 'src', 'cli', 'main.ts');
  const host = isBundled ? join('dist', 'pty-host.js') : join('src', 'terminal', 'host', 'main.ts');
  const node = [process.execPath, '--disable-warning=ExperimentalWarning'];
  const files = isBundled ? ['dist'] : ['src', 'node_modules'];
  const runFolder = ensureRunFolder(paths.home);
  return {
    doors: createAgentDoors(runFolder),
    insideFolder: '/run/chantier/bridge',
    command: [...node, entry, 'mcp'],
    ptyHost: [...node, join(packageRoot, host)],
    readOnly: [process.execPath, join(packageRoot, 'package.json'), ...files.map((name) => join(packageRoot, name))],
    runFolder,
    tools: ownTools,
  };
}

/** The program that runs the wall, where it is bundled; from sources the sandbox finds its own. */
export function wallProgram(): readonly string[] | undefined {
  const file = join(packageRoot, 'dist', 'wall.js');
  return isBundled && existsSync(file) ? [process.execPath, file] : undefined;
}

/** The built console, where there is one. */
export function consoleFolder(): string | undefined {
  const folder = join(packageRoot, 'dist', 'web');
  return existsSync(join(folder, 'index.html')) ? folder : undefined;
}

function findPackageRoot(from: string): string {
  for (let folder = from; ; folder = dirname(folder)) {
    const file = join(folder, 'package.json');
    if (existsSync(file) && (JSON.parse(readFileSync(file, 'utf8')) as { name?: string }).name === 'chantier')
      return folder;
    if (folder === dirname(folder)) throw new Error(`no package.json of chantier above ${from}`);
  }
}
