/** Builds `dist/`: the bundled programs, the console, and the files they read beside themselves. */
import { cpSync, existsSync, mkdirSync, rmSync } from 'node:fs';

import { rolldown } from 'rolldown';

const entries = {
  cli: 'src/cli/main.ts',
  wall: 'src/sandbox/wall/main.ts',
};

rmSync('dist', { recursive: true, force: true });
mkdirSync('dist', { recursive: true });
await bundlePrograms();
await buildConsole();

/** One bundle with shared chunks, each command its own chunk, so that a verb loads only what it needs. */
async function bundlePrograms(): Promise<void> {
  const bundle = await rolldown({
    input: Object.fromEntries(Object.entries(entries).filter(([, file]) => existsSync(file))),
    platform: 'node',
    external: [/^node:/, 'pg-native'],
    resolve: { conditionNames: ['node', 'import'] },
    treeshake: true,
  });
  await bundle.write({ dir: 'dist', format: 'esm', entryFileNames: '[name].js', chunkFileNames: 'chunks/[name]-[hash].js', minify: false });
  await bundle.close();
}

async function buildConsole(): Promise<void> {
  if (!existsSync('web/vite.config.ts')) return;
  const { build } = await import('vite');
  await build({ configFile: 'web/vite.config.ts', logLevel: 'warn' });
  if (existsSync('web/public')) cpSync('web/public', 'dist/web', { recursive: true });
}
