import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, lstatSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

/** Where an agent was installed, or why it could not be. */
export type Installed = { folder: string } | { refused: string };

/** Outlives a restart of the machine, and every user may read it. */
const cache = process.env.CHANTIER_TEST_CACHE ?? '/var/tmp/chantier-test-agents';

/**
 * Installs the package `name` of `packages/` by its own lock into the cache outside of the repository, once for each content
 * of the lock. No install script runs: the programs come complete. A registry that refuses is an answer, not an error.
 */
export async function installAgent(name: string): Promise<Installed> {
  const source = join(import.meta.dirname, 'packages', name);
  const files = ['package.json', 'package-lock.json'];
  const hash = createHash('sha256');
  for (const file of files) hash.update(readFileSync(join(source, file)));
  const folder = join(cache, `${name}-${hash.digest('hex').slice(0, 16)}`);
  mkdirSync(cache, { recursive: true, mode: 0o755 });
  if (lstatSync(cache).uid !== process.getuid?.() || !lstatSync(cache).isDirectory())
    return { refused: `${cache} belongs to somebody else; set CHANTIER_TEST_CACHE` };
  if (existsSync(folder)) return { folder };
  const unfinished = `${folder}.${process.pid}`;
  mkdirSync(unfinished, { mode: 0o755 });
  try {
    for (const file of files) copyFileSync(join(source, file), join(unfinished, file));
    const words = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
    await promisify(execFile)('/bin/sh', ['-c', 'umask 022; exec npm "$@"', 'npm', ...words], {
      cwd: unfinished,
      timeout: 300_000,
    });
    if (!existsSync(folder)) renameSync(unfinished, folder);
    return { folder };
  } catch (error) {
    const { stderr = '', message } = error as Error & { stderr?: string };
    return {
      refused: `npm could not install ${name}: ${(stderr || message).trim().split('\n').slice(0, 3).join(' ')}`,
    };
  } finally {
    rmSync(unfinished, { recursive: true, force: true });
  }
}
