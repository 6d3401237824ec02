import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { join, resolve } from 'node:path';

/** The repository's own folder. */
export const packageFolder = resolve(import.meta.dirname, '../..');

/** The Node that runs server and agents. */
export const node = join(packageFolder, 'node_modules/node/bin/node');

const sources = ['src', 'web', 'scripts', 'package.json', 'package-lock.json'];

/**
 * The package as it is shipped (bundles and console), built from the sources as they are now; kept in `node_modules/.cache`
 * under the hash of those sources. Two that build at once do no harm: the first one wins. `CHANTIER_E2E_PACKAGE` names another one, already built.
 */
export function builtPackage(): string {
  const given = process.env.CHANTIER_E2E_PACKAGE;
  if (given !== undefined && given !== '') return given;
  const cache = join(packageFolder, 'node_modules/.cache/chantier-e2e');
  const built = join(cache, hashOf(sources));
  if (existsSync(built)) return built;
  mkdirSync(cache, { recursive: true });
  for (const old of readdirSync(cache)) removeIfOld(join(cache, old));
  const fresh = `${built}.${process.pid}`;
  execFileSync(node, ['scripts/build.ts', join(fresh, 'dist')], {
    cwd: packageFolder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  for (const part of ['package.json', 'bin', 'examples'])
    cpSync(join(packageFolder, part), join(fresh, part), { recursive: true });
  mkdirSync(join(fresh, 'node_modules'));
  symlinkSync(join(packageFolder, 'node_modules/node'), join(fresh, 'node_modules/node'));
  try {
    renameSync(fresh, built);
  } catch (error) {
    if (!existsSync(built)) throw error;
    rmSync(fresh, { recursive: true, force: true });
  }
  return built;
}

function hashOf(paths: readonly string[]): string {
  const hash = createHash('sha256');
  for (const path of paths) {
    const whole = join(packageFolder, path);
    const files = statSync(whole).isDirectory()
      ? readdirSync(whole, { recursive: true, withFileTypes: true })
          .filter((entry) => entry.isFile() && !entry.name.endsWith('.test.ts'))
          .map((entry) => join(entry.parentPath, entry.name))
          .toSorted()
      : [whole];
    for (const file of files) hash.update(`${file}\0`).update(readFileSync(file)).update('\0');
  }
  return hash.digest('hex').slice(0, 16);
}

/** Builds that are older than two hours, longer than any run of tests lasts. */
function removeIfOld(folder: string): void {
  if (Date.now() - statSync(folder).mtimeMs > 7_200_000) rmSync(folder, { recursive: true, force: true });
}
