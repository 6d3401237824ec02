import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { existsSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { commitAll, git, makeRepository, writeFiles } from './git.ts';
import { makeMakeRepository } from './plain.ts';

/**
 * Repositories as teams have them, as real as a machine without a network allows. Where a program is missing (pnpm, Django,
 * git-lfs, docker) the shape is kept and the checks use what is there; each maker says so.
 */

/** A pnpm monorepo: a lockfile, a workspace file, two packages of which one needs the other. pnpm: `giveTools`. */
export function makePnpmRepository(folder: string): string {
  const web = { name: '@acme/web', version: '1.0.0', private: true, dependencies: { '@acme/lib': 'workspace:*' } };
  return makeRepository(folder, {
    'package.json': json({ name: 'acme', private: true, scripts: { test: 'node packages/web/test.js' } }),
    'pnpm-workspace.yaml': 'packages:\n  - packages/*\n',
    'pnpm-lock.yaml': `lockfileVersion: '9.0'\nimporters:\n  packages/web:\n    dependencies:\n      '@acme/lib':\n        specifier: workspace:*\n        version: link:../lib\n`,
    'packages/lib/package.json': json({ name: '@acme/lib', version: '1.0.0', main: 'index.js' }),
    'packages/lib/index.js': 'exports.greet = (name) => `hello ${name}`;\n',
    'packages/web/package.json': json(web),
    'packages/web/test.js': `const { greet } = require('@acme/lib');\nif (!greet('you').startsWith('hello')) throw new Error(greet('you'));\nconsole.log('1 package tested');\n`,
    '.gitignore': 'node_modules/\n',
  });
}

/**
 * Django with PostgreSQL: `manage.py test` in a virtual environment, against a database of the name that the folder was
 * given. Without Django `manage.py` finds and runs the tests itself; the PostgreSQL server is real where one is installed.
 */
export function makeDjangoRepository(folder: string): string {
  return makeRepository(folder, {
    'requirements.txt': '# Django and psycopg would stand here; there is no network\n',
    'manage.py': managePy,
    'shop/__init__.py': '',
    'shop/prices.py': 'def total(prices):\n    return sum(prices)\n',
    'shop/tests.py': `import unittest\nfrom shop.prices import total\n\n\nclass TotalTest(unittest.TestCase):\n    def test_total(self):\n        self.assertEqual(total([1, 2]), 3)\n`,
    '.gitignore': '.venv/\n__pycache__/\n',
  });
}

/** A Rust workspace of two crates without dependencies from outside. cargo: `giveTools`. */
export function makeRustRepository(folder: string): string {
  const manifest = (name: string, more = ''): string =>
    `[package]\nname = "${name}"\nversion = "0.1.0"\nedition = "2021"\n${more}`;
  return makeRepository(folder, {
    'Cargo.toml': '[workspace]\nresolver = "2"\nmembers = ["crates/core", "crates/app"]\n',
    'Cargo.lock': `version = 3\n\n[[package]]\nname = "app"\nversion = "0.1.0"\ndependencies = [\n "core-lib",\n]\n\n[[package]]\nname = "core-lib"\nversion = "0.1.0"\n`,
    'crates/core/Cargo.toml': manifest('core-lib'),
    'crates/core/src/lib.rs': 'pub fn double(x: i32) -> i32 {\n    x * 2\n}\n',
    'crates/app/Cargo.toml': manifest('app', '\n[dependencies]\ncore-lib = { path = "../core" }\n'),
    'crates/app/src/lib.rs': `pub fn four() -> i32 {\n    core_lib::double(2)\n}\n\n#[cfg(test)]\nmod tests {\n    #[test]\n    fn four_is_four() {\n        assert_eq!(super::four(), 4);\n    }\n}\n`,
    '.gitignore': 'target/\n',
  });
}

/** A repository whose check reads a submodule, which a person has cloned and updated. */
export function makeSubmoduleUser(folder: string): string {
  const lib = makeRepository(`${folder}-lib`, { 'lib.txt': 'lib\n' });
  makeMakeRepository(folder);
  git(folder, '-c', 'protocol.file.allow=always', 'submodule', '--quiet', 'add', lib, 'vendor/lib');
  writeFiles(folder, { Makefile: 'check:\n\tgrep -q lib vendor/lib/lib.txt\n\tsh ./test.sh\n' });
  commitAll(folder, 'A submodule');
  return folder;
}

/**
 * Pointers of git-lfs, with the filter that git-lfs configures in the checkout; the program behind it is a trap that leaves
 * `<folder>-filter-ran`, for git-lfs is not on every machine and must never be run by the server.
 */
export function makeLfsRepository(folder: string): string {
  makeMakeRepository(folder);
  writeFiles(folder, {
    '.gitattributes': '*.png filter=lfs diff=lfs merge=lfs -text\n',
    'logo.png': `version https://git-lfs.github.com/spec/v1\noid sha256:${'4d'.repeat(32)}\nsize 12345\n`,
  });
  commitAll(folder, 'A logo, kept by git-lfs');
  const trap = `touch '${folder}-filter-ran'; cat`;
  for (const side of ['clean', 'smudge']) git(folder, 'config', `filter.lfs.${side}`, trap);
  git(folder, 'config', 'filter.lfs.process', `touch '${folder}-filter-ran'; exit 1`);
  return folder;
}

/** npm with hooks as husky sets them up: `prepare` points git at `.husky`. Hooks that run outside leave `<folder>-hook-ran`. */
export function makeHuskyRepository(folder: string): string {
  const manifest = { name: 'hooked', version: '1.0.0' };
  makeRepository(folder, {
    'package.json': json({
      ...manifest,
      private: true,
      scripts: { prepare: 'git config core.hooksPath .husky', test: 'node test.js' },
    }),
    'package-lock.json': json({ ...manifest, lockfileVersion: 3, requires: true, packages: { '': manifest } }),
    'test.js': "console.log('1 test passed');\n",
    'greeting.txt': 'hello world\n',
  });
  const mark = `touch '${folder}-hook-ran' 2>/dev/null || true\n`;
  writeFiles(folder, {
    '.husky/commit-msg': `#!/bin/sh\n${mark}echo "\nHooked-by: husky" >> "$1"\n`,
    '.husky/post-merge': `#!/bin/sh\n${mark}`,
    '.husky/post-checkout': `#!/bin/sh\n${mark}`,
    '.husky/reference-transaction': `#!/bin/sh\n${mark}`,
  });
  for (const hook of ['commit-msg', 'post-merge', 'post-checkout', 'reference-transaction'])
    chmodSync(join(folder, '.husky', hook), 0o755);
  commitAll(folder, 'Hooks');
  git(folder, 'config', 'core.hooksPath', '.husky');
  return folder;
}

/**
 * Services by compose. Docker cannot be reached from inside, so the check looks at what a folder of its own needs: a project
 * name, and a port on which a service (of python's library) answers.
 */
export function makeComposeRepository(folder: string): string {
  return makeRepository(folder, {
    'compose.yaml': 'services:\n  web:\n    image: nginx:1\n    ports: ["${PORT}:80"]\n',
    Makefile: 'check:\n\tsh ./check.sh\n',
    'check.sh': `set -e\ntest -n "$COMPOSE_PROJECT_NAME"\npython3 -m http.server "$PORT" --bind 127.0.0.1 >/dev/null 2>&1 &\nserver=$!\nfor n in 1 2 3 4 5 6 7 8 9 10; do\n  if python3 -c "import urllib.request as u, os; u.urlopen('http://127.0.0.1:' + os.environ['PORT'])" 2>/dev/null; then break; fi\n  sleep 0.3\ndone\npython3 -c "import urllib.request as u, os; u.urlopen('http://127.0.0.1:' + os.environ['PORT'])"\nkill $server\necho "served on $PORT for $COMPOSE_PROJECT_NAME"\n`,
    'greeting.txt': 'hello world\n',
  });
}

/** A remote that refuses every push to `main`, as a forge with a protected branch does. */
export function makeProtectedRepository(folder: string): string {
  makeMakeRepository(folder);
  const remote = `${folder}-remote.git`;
  mkdirSync(remote, { recursive: true });
  git(remote, 'init', '--quiet', '--bare', '--initial-branch=main');
  git(folder, 'remote', 'add', 'origin', remote);
  git(folder, 'push', '--quiet', '--set-upstream', 'origin', 'main');
  git(folder, 'remote', 'set-head', 'origin', 'main');
  const hook = join(remote, 'hooks', 'update');
  writeFileSync(hook, '#!/bin/sh\n[ "$1" != refs/heads/main ] || { echo "main is protected" >&2; exit 1; }\n');
  chmodSync(hook, 0o755);
  return folder;
}

/** Programs that a person has in their home: cargo where this machine has it, and a stand-in for pnpm. */
export function giveTools(home: string): { path: string[]; hasCargo: boolean } {
  const pnpm = join(home, '.local/share/pnpm');
  mkdirSync(pnpm, { recursive: true });
  writeFileSync(join(pnpm, 'pnpm'), pnpmStandIn, { mode: 0o755 });
  const own = process.env.CARGO_HOME ?? join(homedir(), '.cargo');
  const toolchains = process.env.RUSTUP_HOME ?? join(homedir(), '.rustup');
  const hasCargo = existsSync(join(own, 'bin', 'cargo')) && existsSync(toolchains);
  if (!hasCargo) return { path: [pnpm], hasCargo };
  mkdirSync(join(home, '.cargo'));
  symlinkSync(join(own, 'bin'), join(home, '.cargo/bin'));
  symlinkSync(toolchains, join(home, '.rustup'));
  return { path: [pnpm, join(home, '.cargo/bin')], hasCargo };
}

function json(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

/** What pnpm does for this workspace: links its packages into `node_modules`, and runs a script. */
const pnpmStandIn = `#!/bin/sh
set -e
case "$1" in
  install)
    test -f pnpm-lock.yaml
    mkdir -p packages/web/node_modules/@acme
    ln -sfn ../../../lib packages/web/node_modules/@acme/lib
    echo "linked 1 package" ;;
  test) exec sh -c "$(sed -n 's/.*"test": "\\(.*\\)".*/\\1/p' package.json)" ;;
  *) echo "the stand-in for pnpm knows install and test" >&2; exit 2 ;;
esac
`;

const managePy = `#!/usr/bin/env python3
"""Runs the tests with a database of their own, as manage.py of Django does."""
import glob
import os
import subprocess
import sys
import tempfile
import unittest


def with_postgres(bin, run):
    name, port = os.environ["CHANTIER_DATABASE_NAME"], os.environ["PORT"]
    with tempfile.TemporaryDirectory() as place:
        quiet = {"check": True, "stdout": subprocess.DEVNULL}
        subprocess.run([f"{bin}/initdb", "-D", f"{place}/data", "-A", "trust", "-U", "app", "--no-sync"], **quiet)
        options = f"-p {port} -k {place} -h 127.0.0.1 -c fsync=off"
        ctl = [f"{bin}/pg_ctl", "-D", f"{place}/data", "-w", "-l", f"{place}/log"]
        subprocess.run([*ctl, "-o", options, "start"], **quiet)
        try:
            psql = ["psql", "-h", place, "-p", port, "-U", "app", "-qAt"]
            subprocess.run([*psql, "-d", "postgres", "-c", f"create database {name}"], **quiet)
            answer = subprocess.run(
                [*psql, "-d", name, "-c", "select current_database()"], check=True, capture_output=True, text=True
            )
            assert answer.stdout.strip() == name, answer.stdout
            return run(f"PostgreSQL, database {name}")
        finally:
            subprocess.run([*ctl, "-m", "immediate", "stop"], **quiet)


def tests(where):
    result = unittest.TextTestRunner().run(unittest.defaultTestLoader.discover(".", pattern="tests.py"))
    print(f"{result.testsRun} tests on {where}")
    return 0 if result.wasSuccessful() and result.testsRun else 1


if __name__ == "__main__":
    if sys.argv[1:] != ["test"]:
        sys.exit("manage.py test")
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin"))
    sys.exit(with_postgres(found[-1], tests) if found else tests("no server, for none is installed"))
`;
