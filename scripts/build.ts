/**
 * `npm run build [-- folder]`: the bundled programs, the console and the licences of what is in them, into `dist/` (or
 * `folder`). The new folder takes the place of the old one at the end, so that a failed build leaves a whole one.
 */
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';

import { rolldown } from 'rolldown';

import { takeBuiltins } from './builtins-plugin.ts';
import { collectLicences } from './licences.ts';

/** Programs that are started as processes or threads of their own, by the name of their file. */
const programs = {
  cli: 'src/cli/main.ts',
  wall: 'src/sandbox/wall/main.ts',
  'pty-host': 'src/terminal/host/main.ts',
  'line-reader': 'src/sessions/search/line-reader.ts',
};

const target = resolve(process.argv[2] ?? 'dist');
process.chdir(dirname(import.meta.dirname));
const fresh = `${target}.${process.pid}`;
try {
  mkdirSync(fresh, { recursive: true });
  const modules = (await Promise.all([bundlePrograms(), buildConsole()])).flat();
  writeFileSync(join(fresh, 'THIRD-PARTY-LICENSES'), collectLicences(modules));
  const old = `${target}.old-${process.pid}`;
  if (existsSync(target)) renameSync(target, old);
  renameSync(fresh, target);
  rmSync(old, { recursive: true, force: true });
} finally {
  rmSync(fresh, { recursive: true, force: true });
}

/** Shared chunks, and each verb a chunk of its own, so that a verb loads only what it needs. Gives the bundled files. */
async function bundlePrograms(): Promise<string[]> {
  const bundle = await rolldown({
    input: programs,
    platform: 'node',
    plugins: [takeBuiltins],
    // The operator's own, looked for at run time: PostgreSQL's native client, the macOS sandbox; the native part of terminals.
    // Its other form cannot be bundled.
    resolve: { alias: { 'jsonc-parser': 'jsonc-parser/lib/esm/main.js' } },
    external: [/^node:/, 'pg-native', 'pg-cloudflare', '@anthropic-ai/sandbox-runtime', '@lydell/node-pty'],
  });
  const { output } = await bundle.write({
    dir: fresh,
    format: 'esm',
    entryFileNames: '[name].js',
    chunkFileNames: 'chunks/[name]-[hash].js',
    sourcemap: false,
    comments: { legal: false },
  });
  await bundle.close();
  return output.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}

/** The console into `web/`. Gives the bundled files. */
async function buildConsole(): Promise<string[]> {
  const { build } = await import('vite');
  const built = await build({
    configFile: 'web/vite.config.ts',
    logLevel: 'warn',
    build: { outDir: join(fresh, 'web'), emptyOutDir: true },
  });
  const outputs = [built].flat().flatMap((result) => ('output' in result ? result.output : []));
  return outputs.flatMap((part) => (part.type === 'chunk' ? part.moduleIds : []));
}
