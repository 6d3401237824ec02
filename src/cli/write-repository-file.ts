import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { formatDuration } from '../config/index.ts';
import type { DetectionView } from '../wire/index.ts';
import { failWith } from './outcome.ts';

/** Writes what was detected as `chantier.yml` into the checkout. Throws exit 4 when there is one. */
export async function writeRepositoryFile(found: DetectionView): Promise<string> {
  const { stringify } = await import('yaml');
  const content = {
    version: 1,
    repository: { forge: found.forge, base: found.base },
    ...(found.setup.length > 0
      ? { workspace: { setup: found.setup, ...(found.cacheKey.length > 0 ? { cacheKey: found.cacheKey } : {}) } }
      : {}),
    checks:
      found.checks.length === 0
        ? 'none'
        : found.checks.map((check) => ({
            name: check.name,
            run: check.run,
            timeout: formatDuration(check.timeoutMs),
            ...(check.paths.length > 0 ? { paths: check.paths } : {}),
            ...(check.network ? { network: true } : {}),
          })),
  };
  const file = join(found.path, 'chantier.yml');
  try {
    writeFileSync(file, stringify(content), { flag: 'wx', mode: 0o644 });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    throw failWith('duplicate', 'file_exists', `There is a ${file} already; it was not changed.`);
  }
  return file;
}
