import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

interface Manifest {
  name: string;
  version: string;
  license?: string;
  author?: string | { name: string };
}

/** The text of `THIRD-PARTY-LICENSES`: every package with a file among the bundled `modules`, with its licence and notice. */
export function collectLicences(modules: readonly string[]): string {
  const folders = new Set(modules.flatMap((file) => packageFolderOf(file) ?? []));
  const parts = [...folders].map(describePackage).toSorted();
  return ['Chantier contains code of these packages, each under its own licence.\n', ...parts].join(
    `\n${'='.repeat(80)}\n`,
  );
}

/** The folder of the package that a bundled file comes from; none for our own files and for what the bundler makes. */
function packageFolderOf(file: string): string | undefined {
  const folder = /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(file)?.[1];
  return folder !== undefined && existsSync(join(folder, 'package.json')) ? folder : undefined;
}

function describePackage(folder: string): string {
  const { name, version, license, author } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest;
  const names = readdirSync(folder).filter((file) => /^(licen[cs]e|notice|copying)([.-].*)?$/i.test(file));
  const texts = names.toSorted().map((file) => readFileSync(join(folder, file), 'utf8').trim());
  const by = typeof author === 'string' ? author : author?.name;
  const own = `Licence ${license ?? 'not stated'}${by ? `, by ${by}` : ''}. The package brings no text of its own.`;
  return `${name} ${version} (${license ?? 'see below'})\n\n${texts.join('\n\n') || own}\n`;
}
