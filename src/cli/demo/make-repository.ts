import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

const files: Readonly<Record<string, string>> = {
  'package.json': `${JSON.stringify({ name: 'greetings', version: '1.0.0', private: true, type: 'module', scripts: { test: 'node --test' } }, null, 2)}\n`,
  'README.md': '# greetings\n\nGreets people. `npm test` checks it.\n',
  'src/greet.js': 'export function greet(name) {\n  return `Hello, ${name}!`;\n}\n',
  'test/greet.test.js': `import assert from 'node:assert/strict';
import test from 'node:test';

import { greet } from '../src/greet.js';

test('greets', () => {
  assert.equal(greet('Ada'), 'Hello, Ada!');
});
`,
};

/** Makes the demo's small git repository in `folder`; gives its first commit. */
export function makeDemoRepository(folder: string): string {
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), content);
  }
  git(folder, 'init', '-q', '-b', 'main');
  git(folder, 'add', '-A');
  git(
    folder,
    '-c',
    'user.name=Demo',
    '-c',
    'user.email=demo@localhost.invalid',
    'commit',
    '-q',
    '-m',
    'A small greeting',
  );
  return git(folder, 'rev-parse', 'HEAD');
}

/** Runs git in the demo's own repository and gives its output. */
export function git(folder: string, ...args: string[]): string {
  const env = { ...process.env, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' };
  return execFileSync('git', ['-C', folder, ...args], { encoding: 'utf8', env }).trim();
}
