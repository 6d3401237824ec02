import { expect, test } from 'vitest';

import { buildEnvironment, environmentNameFault } from './environment.ts';

test('holds PATH of absolute folders, LANG, its own HOME, git identity, allowed and set names, nothing else (design 4)', () => {
  const env = buildEnvironment({
    home: '/w/home',
    path: ['/opt/node/bin'],
    git: { name: 'Turing', email: 'turing@example.com' },
    names: ['FAVOURITE', 'ABSENT'],
    from: { FAVOURITE: 'tea', OTHER: 'x', SSH_AUTH_SOCK: '/s' },
    set: { CHANTIER_RUN: 'r1' },
  });
  expect(env).toEqual({
    PATH: '/opt/node/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
    LANG: 'C.UTF-8',
    HOME: '/w/home',
    TMPDIR: '/tmp',
    GIT_TERMINAL_PROMPT: '0',
    GIT_AUTHOR_NAME: 'Turing',
    GIT_AUTHOR_EMAIL: 'turing@example.com',
    GIT_COMMITTER_NAME: 'Turing',
    GIT_COMMITTER_EMAIL: 'turing@example.com',
    FAVOURITE: 'tea',
    CHANTIER_RUN: 'r1',
  });
});

test.each([
  'GITHUB_TOKEN',
  'SSH_AUTH_SOCK',
  'DATABASE_URL',
  'GIT_DIR',
  'NODE_OPTIONS',
  'LD_PRELOAD',
  'CHANTIER_TOKEN',
  'BASH_ENV',
  'A B',
  '',
])('never hands on %j (design 4)', (name) => {
  expect(environmentNameFault(name)).toBeDefined();
  expect(() => buildEnvironment({ home: '/h', names: [name], from: { [name]: 'x' } })).toThrow(
    /remove it from the list/,
  );
});

test('refuses a relative folder on PATH (design 4)', () => {
  expect(() => buildEnvironment({ home: '/h', path: ['node_modules/.bin'] })).toThrow(/absolute folders only/);
});
