import { dirname, join, normalize } from 'node:path';

import { parseSync } from 'oxc-parser';

/** Which folders of `src/` each folder may import (design section 3). `main.ts` may import everything. */
export const mayImport: Readonly<Record<string, readonly string[]>> = {
  kernel: [],
  config: ['kernel'],
  wire: ['kernel'],
  terminal: ['kernel'],
  store: ['kernel', 'config'],
  sandbox: ['kernel', 'config'],
  ...domains(['ledger', 'sessions', 'gate', 'review', 'forge', 'spending']),
  app: [
    'kernel',
    'config',
    'wire',
    'terminal',
    'store',
    'sandbox',
    'ledger',
    'sessions',
    'gate',
    'review',
    'forge',
    'spending',
  ],
  server: ['kernel', 'config', 'wire', 'store', 'app'],
  mcp: ['kernel', 'config', 'wire'],
  cli: ['kernel', 'config', 'wire', 'terminal', 'store', 'app', 'server', 'mcp', 'sandbox', 'main.ts'],
};

function domains(names: readonly string[]): Record<string, readonly string[]> {
  return Object.fromEntries(names.map((name) => [name, ['kernel', 'config', 'wire', 'terminal', 'store', 'sandbox']]));
}

/** The longest file that is not generated. */
export const maxLines = 400;

/** Where tests may enter a folder besides its `index.ts`: what it offers to the tests of others. */
const testDoor = 'testing.ts';

/** What is wrong with one file's imports, each as one sentence. `file` is relative to the repository. */
export function importFaults(file: string, source: string): string[] {
  return importsOf(file, source).flatMap((specifier) => faultOf(file, specifier) ?? []);
}

/** What is wrong with a file's length. */
export function lengthFaults(file: string, source: string): string[] {
  if (/\.gen\.tsx?$|\/generated\//.test(file)) return [];
  const lines = source.split('\n').length - 1;
  return lines > maxLines
    ? [`${file} has ${lines} lines, at most ${maxLines} are allowed: split it by what it does`]
    : [];
}

function importsOf(file: string, source: string): string[] {
  const { module } = parseSync(file, source);
  const staticOnes = module.staticImports.map((entry) => entry.moduleRequest.value);
  const reexports = module.staticExports.flatMap((statement) =>
    statement.entries.flatMap((entry) => entry.moduleRequest?.value ?? []),
  );
  const dynamic = module.dynamicImports.map((entry) =>
    source.slice(entry.moduleRequest.start, entry.moduleRequest.end).replaceAll(/^['"`]|['"`]$/g, ''),
  );
  return [...staticOnes, ...reexports, ...dynamic];
}

function faultOf(file: string, specifier: string): string | undefined {
  if (!specifier.startsWith('.')) return undefined;
  const target = normalize(join(dirname(file), specifier));
  const isTest = /\.test\.tsx?$/.test(file) || !/^(src|web)\//.test(file);
  if (file.startsWith('web/') && !isTest && target.startsWith('src/') && !target.startsWith('src/wire/')) {
    return `${file} imports ${target}: the console imports src/wire only`;
  }
  if (!file.startsWith('src/') || !target.startsWith('src/')) return undefined;
  const from = folderOf(file);
  const to = folderOf(target);
  if (from === to || from === 'main.ts') return doorFault(file, target, from, to, isTest);
  if (!isTest && !(mayImport[from] ?? []).includes(to)) {
    return `${file} imports ${target}: ${from} may import ${(mayImport[from] ?? []).join(', ') || 'nothing'}`;
  }
  return doorFault(file, target, from, to, isTest);
}

function doorFault(file: string, target: string, from: string, to: string, isTest: boolean): string | undefined {
  if (from === to || to === 'main.ts' || target === `src/${to}/index.ts`) return undefined;
  if (isTest && target === `src/${to}/${testDoor}`) return undefined;
  return `${file} imports ${target}: enter ${to} through src/${to}/index.ts`;
}

/** The folder below `src/`; files directly in it are the composition root. */
function folderOf(path: string): string {
  const [, folder = '', ...rest] = path.split('/');
  return rest.length === 0 ? 'main.ts' : folder;
}
