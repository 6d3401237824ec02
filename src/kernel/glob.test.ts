import { expect, it } from 'vitest';

import { globFault, matchesGlob } from './glob.ts';

it('matches names, folders, sets and alternatives, dot names included', () => {
  const pairs: [string, string, boolean][] = [
    ['**', 'a/b', true],
    ['.github/**', '.github/workflows/x.yml', true],
    ['**/.env', '.env', true],
    ['**/*.ts', 'a/.x/b.ts', true],
    ['*.ts', 'a/b.ts', false],
    ['migrations/', 'migrations/1.sql', true],
    ['migrations/**', 'amigrations/1.sql', false],
    ['a?c.{md,txt}', 'abc.txt', true],
    ['a?c.{md,txt}', 'a/c.md', false],
    ['[a-c].md', 'b.md', true],
    ['[!a-c].md', 'b.md', false],
    ['a+b(1).md', 'a+b(1).md', true],
  ];
  for (const [pattern, path, expected] of pairs)
    expect([pattern, path, matchesGlob(pattern, path)]).toEqual([pattern, path, expected]);
});

it('names a pattern that can never match', () => {
  expect(globFault('src/**')).toBeUndefined();
  for (const pattern of ['', './a', '../a', 'a/../b', 'a//b', '{a', '[a'])
    expect(globFault(pattern)).toBeTypeOf('string');
});
