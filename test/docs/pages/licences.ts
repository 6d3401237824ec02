import { globSync, readFileSync } from 'node:fs';

import { code, type Page, page, table } from './page.ts';

interface LockedPackage {
  version: string;
  license?: string;
  dependencies?: Record<string, string>;
}

/** Licences that let us ship the package in a bundle. */
export const permissive: readonly string[] = [
  '0BSD',
  'Apache-2.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'BlueOak-1.0.0',
  'CC0-1.0',
  'ISC',
  'MIT',
  'MIT-0',
  'Unlicense',
];

const intro = `Chantier itself is Apache-2.0. These packages are in what is shipped, directly or through another one; all of them permit that.
Tools that are used for building and testing only are not listed.`;

/** Name, version and licence of everything that is shipped, from the lockfile. */
export function licencesPage(): Page {
  const rows = shippedPackages().map(({ name, version, license }) => [code(name), version, license]);
  return page('docs/licences.md', 'Licences', intro, table(['Package', 'Version', 'Licence'], rows));
}

/** What the bundles of program and console hold, as the lockfile has it, sorted by name. */
export function shippedPackages(): { name: string; version: string; license: string }[] {
  const { packages } = JSON.parse(readFileSync('package-lock.json', 'utf8')) as {
    packages: Record<string, LockedPackage>;
  };
  const shipped = withDependencies(importedPackages(), packages);
  return Object.entries(packages)
    .filter(([path]) => path !== '' && shipped.has(nameIn(path)))
    .map(([path, { version, license = 'not said' }]) => ({ name: nameIn(path), version, license }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function nameIn(path: string): string {
  return path.replace(/^.*node_modules\//, '');
}

/** Packages that the sources of program and console import, tests apart. */
function importedPackages(): string[] {
  const isShipped = (file: string): boolean => !/(\.test\.tsx?|\/testing[^/]*\.ts|vite\.config\.ts)$/.test(file);
  const files = globSync('{src,web}/**/*.{ts,tsx}').filter(isShipped);
  const specifiers = files.flatMap((file) =>
    [
      ...readFileSync(file, 'utf8').matchAll(
        /(?:^(?:import|export) (?!type )[^;']*?from |\bawait import\()'([^'.][^']*)'/gm,
      ),
    ].map(([, specifier]) => specifier!),
  );
  return [...new Set(specifiers.map((specifier) => /^(?:@[^/]+\/)?[^/]+/.exec(specifier)![0]))];
}

function withDependencies(names: readonly string[], packages: Record<string, LockedPackage>): Set<string> {
  const found = new Set<string>();
  const waiting = [...names];
  for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
    const entry = packages[`node_modules/${name}`];
    if (!entry || found.has(name)) continue;
    found.add(name);
    waiting.push(...Object.keys(entry.dependencies ?? {}));
  }
  return found;
}
