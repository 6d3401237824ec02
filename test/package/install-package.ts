import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, relative, resolve } from 'node:path';

const repository = resolve(import.meta.dirname, '../..');
const node = join(repository, 'node_modules/node/bin/node');
const notCopied = ['.git', 'coverage', 'dist', 'node_modules'];

/** The package as `npm pack` makes it from these sources, installed in a folder that holds nothing else. */
export interface InstalledPackage {
  /** Paths in the tarball. */
  files: readonly string[];
  /** The installed package. */
  folder: string;
  /** The program that npm links. */
  program: string;
  /** Node 24, the system's folders, a home of its own and a temporary folder: nothing of the repository. */
  env: Record<string, string>;
  /** Removes everything. */
  remove(): void;
}

/** Packs and installs, without a registry and without development dependencies. */
export function installPackage(): InstalledPackage {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'chpkg-')));
  const [sources, place, home, temporary] = ['sources', 'place', 'home', 'tmp'].map((name) => join(root, name)) as [
    string,
    string,
    string,
    string,
  ];
  for (const folder of [place, home, temporary]) mkdirSync(folder);
  const path = [dirname(node), '/usr/local/bin', '/usr/bin', '/bin'].join(':');
  const env = { PATH: path, HOME: home, TMPDIR: temporary, LANG: 'C.UTF-8' };
  const npm = (cwd: string, ...args: string[]): string =>
    execFileSync('npm', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  try {
    copySources(sources);
    // Packing runs `prepare`, which builds.
    const output = npm(sources, 'pack', '--json', '--pack-destination', root);
    const [packed] = JSON.parse(output.slice(output.search(/^\[/m))) as [
      { filename: string; files: { path: string }[] },
    ];
    writeFileSync(join(place, 'package.json'), '{}');
    npm(place, 'install', '--offline', '--no-package-lock', '--omit=dev', join(root, packed.filename));
    return {
      files: packed.files.map((file) => file.path),
      folder: join(place, 'node_modules/chantier'),
      program: join(place, 'node_modules/.bin/chantier'),
      env,
      remove: () => rmSync(root, { recursive: true, force: true }),
    };
  } catch (error) {
    rmSync(root, { recursive: true, force: true });
    throw error;
  }
}

function copySources(target: string): void {
  const isWanted = (file: string): boolean => !notCopied.includes(relative(repository, file).split('/')[0]!);
  cpSync(repository, target, { recursive: true, filter: isWanted });
  symlinkSync(join(repository, 'node_modules'), join(target, 'node_modules'));
}
