import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The package's version, from the nearest `package.json` named chantier above this file (bundled or not). */
export const version = readVersion(dirname(fileURLToPath(import.meta.url)));

function readVersion(folder: string): string {
  try {
    const content = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as {
      name?: string;
      version?: string;
    };
    if (content.name === 'chantier') return content.version ?? '0.0.0';
  } catch {}
  const above = dirname(folder);
  return above === folder ? '0.0.0' : readVersion(above);
}
