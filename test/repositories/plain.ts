import { chmodSync, mkdirSync, rmSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';

import { commitAll, git, makeRepository, writeFiles } from './git.ts';

/** Plain make: `make check` runs a shell test over one text file. */
export function makeMakeRepository(folder: string): string {
  makeRepository(folder, {
    Makefile: 'check:\n\tsh ./test.sh\n',
    'test.sh': 'grep -q "^hello" greeting.txt && echo "greeting ok"\n',
    'greeting.txt': 'hello world\n',
    'README.md': '# Greeting\n\nSays hello.\n',
    '.gitignore': 'build/\n*.log\n',
  });
  return folder;
}

/** npm with a lockfile and a dependency from a tarball in the repository: `npm ci` is needed first and needs no network. */
export function makeNpmRepository(folder: string): string {
  makeRepository(folder, { '.gitignore': 'node_modules/\n' });
  const source = join(folder, '.source');
  writeFiles(source, {
    'package/package.json': JSON.stringify({ name: 'greet', version: '1.0.0', main: 'index.js' }),
    'package/index.js': 'module.exports = (name) => `hello ${name}`;\n',
  });
  mkdirSync(join(folder, 'vendor'));
  execFileSync('tar', ['-czf', join(folder, 'vendor', 'greet-1.0.0.tgz'), '-C', source, 'package']);
  rmSync(source, { recursive: true });
  const spec = 'file:vendor/greet-1.0.0.tgz';
  const root = { name: 'app', version: '1.0.0', dependencies: { greet: spec } };
  writeFiles(folder, {
    'package.json': `${JSON.stringify({ ...root, private: true, scripts: { test: 'node test.js' } }, null, 2)}\n`,
    'package-lock.json': `${JSON.stringify(
      {
        name: 'app',
        version: '1.0.0',
        lockfileVersion: 3,
        requires: true,
        packages: { '': root, 'node_modules/greet': { version: '1.0.0', resolved: spec } },
      },
      null,
      2,
    )}\n`,
    'index.js': "const greet = require('greet');\nmodule.exports = (name) => greet(name);\n",
    'test.js':
      "const say = require('./index.js');\nif (say('you') !== 'hello you') throw new Error(say('you'));\nconsole.log('1 test passed');\n",
  });
  commitAll(folder, 'An app with one dependency');
  return folder;
}

/** As `makeMakeRepository`, with staged, unstaged, untracked, ignored and stashed work of a person. */
export function makeDirtyRepository(folder: string): string {
  makeMakeRepository(folder);
  writeFiles(folder, { 'greeting.txt': 'hello stash\n' });
  git(folder, 'stash', 'push', '--quiet', '-m', 'kept for later');
  writeFiles(folder, { 'staged.txt': 'staged\n' });
  git(folder, 'add', 'staged.txt');
  writeFiles(folder, {
    'README.md': '# Greeting\n\nEdited, not staged.\n',
    'untracked.txt': 'untracked\n',
    'build/out.log': 'ignored\n',
  });
  return folder;
}

/** As `makeMakeRepository`, with a bare remote `origin` beside it (`<folder>-remote.git`) that is no known forge. */
export function makeRemoteRepository(folder: string): string {
  makeMakeRepository(folder);
  const remote = `${folder}-remote.git`;
  mkdirSync(remote, { recursive: true });
  git(remote, 'init', '--quiet', '--bare', '--initial-branch=main');
  git(folder, 'remote', 'add', 'origin', remote);
  git(folder, 'push', '--quiet', '--set-upstream', 'origin', 'main');
  git(folder, 'remote', 'set-head', 'origin', 'main');
  return folder;
}

/** A repository whose set-up step fails with a message. */
export function makeFailingSetupRepository(folder: string): string {
  makeMakeRepository(folder);
  writeFiles(folder, {
    'chantier.yml': 'version: 1\nworkspace: { setup: [[sh, ./setup.sh]] }\n',
    'setup.sh': 'echo "registry says no" >&2\nexit 7\n',
  });
  chmodSync(join(folder, 'setup.sh'), 0o755);
  commitAll(folder, 'A set-up that fails');
  return folder;
}

/** A repository with a submodule `lib` from `<folder>-lib`. */
export function makeSubmoduleRepository(folder: string): string {
  const lib = makeRepository(`${folder}-lib`, { 'lib.txt': 'lib\n' });
  makeMakeRepository(folder);
  git(folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', lib, 'lib');
  commitAll(folder, 'A submodule');
  return folder;
}

/** A clone of depth 1 of a repository with some history. */
export function makeShallowRepository(folder: string): string {
  const origin = makeMakeRepository(`${folder}-origin`);
  for (const at of [1, 2, 3]) {
    writeFiles(origin, { 'README.md': `# Greeting ${at}\n` });
    commitAll(origin, `edit ${at}`);
  }
  git('/', 'clone', '--quiet', '--depth=1', `file://${origin}`, folder);
  return folder;
}
