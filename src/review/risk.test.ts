import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { riskOrder } from './pull-request.ts';
import { changedScripts, holdsSecret, skipsTest } from './read-diff.ts';
import { assessRules, incompleteFiles, mediumFiles } from './risk.ts';
import { factsOf, fileFact } from './testing.ts';

/** `level`, then the codes, `!` behind those that are always for a human. */
function judged(...args: Parameters<typeof factsOf>): string {
  const { level, reasons } = assessRules(factsOf(...args));
  return [level, ...reasons.map((reason) => `${reason.code}${reason.needsHuman ? '!' : ''}`)].join(' ');
}

describe('R-38, P5: rules over git facts', () => {
  it.each([
    ['src/a.ts', 'low'],
    ['docs/readme.md', 'low'],
    ['src/a.test.ts', 'low'],
    ['src/author.ts', 'low'],
    ['src/auth/login.ts', 'medium authentication'],
    ['package-lock.json', 'medium dependencies'],
    ['LICENSE', 'medium licence'],
    ['Dockerfile', 'medium infrastructure'],
    ['Makefile', 'medium build'],
    ['.envrc', 'medium editor_environment!'],
    ['.vscode/tasks.json', 'medium editor_environment!'],
    ['.npmrc', 'medium registry!'],
    ['app/migrations/0001_init.py', 'critical migration!'],
    ['db/migrate/1.rb', 'critical migration!'],
    ['.github/workflows/ci.yml', 'critical ci!'],
    ['chantier.yml', 'critical policy!'],
    ['CLAUDE.md', 'critical agent_instructions!'],
    ['sub/AGENTS.md', 'critical agent_instructions!'],
    ['.claude/settings.json', 'critical agent_instructions!'],
    ['.mcp.json', 'critical agent_instructions!'],
    ['.husky/pre-commit', 'critical hook!'],
    ['.githooks/post-merge', 'critical hook!'],
    ['.gitattributes', 'critical git_configuration!'],
    ['vendor/x/.gitmodules', 'critical git_configuration!'],
    ['.github/CODEOWNERS', 'critical ci! code_owners!'],
    ['.env', 'critical secrets!'],
    ['.env.example', 'low'],
  ])('%s is %s', (path, expected) => expect(judged([path])).toBe(expected));

  it('judges where a file came from as well', () => {
    expect(judged([fileFact('old.txt', { status: 'renamed', oldPath: '.github/workflows/ci.yml' })])).toBe(
      'critical ci!',
    );
  });

  it('deleted, hidden and skipped tests, scripts, links, gitlinks and secrets are always for a human (field case 8)', () => {
    expect(judged([fileFact('src/a.test.ts', { status: 'deleted' })])).toBe('medium test_deleted!');
    expect(judged([fileFact('src/a.txt', { status: 'renamed', oldPath: 'src/a.test.ts' })])).toBe(
      'medium test_deleted!',
    );
    expect(judged(['src/a.test.ts'], { skippedTests: ['src/a.test.ts'] })).toBe('medium test_skipped!');
    expect(judged(['package.json'], { changedScripts: [{ path: 'package.json', name: 'test' }] })).toBe(
      'medium package_scripts!',
    );
    expect(judged([fileFact('x', { newMode: '120000', linkLeavesTree: true })])).toBe('critical symlink_leaves_tree!');
    expect(judged([fileFact('x', { newMode: '120000', linkLeavesTree: false })])).toBe('low');
    expect(judged([fileFact('x', { newMode: '120000' })])).toBe('critical symlink_leaves_tree!');
    expect(judged([fileFact('sub', { newMode: '160000' })])).toBe('critical gitlink!');
    expect(judged(['a'], { secrets: ['a'] })).toBe('critical secret!');
    expect(judged(['a'], { hasForeignTrailer: true })).toBe('critical landing_trailer!');
  });

  it('size, binaries and executables raise to medium; what cannot be listed is incomplete (field case 41)', () => {
    expect(judged([fileFact('a', { added: 600 })])).toBe('medium size');
    expect(judged([fileFact('a.png', { isBinary: true, added: null, removed: null })])).toBe('medium binary');
    expect(judged([fileFact('run.sh', { newMode: '100755' })])).toBe('medium executable');
    const many = Array.from({ length: mediumFiles + 1 }, (_unused, index) => `src/${index}.ts`);
    expect(judged(many)).toBe('medium size');
    const all = assessRules(
      factsOf(Array.from({ length: incompleteFiles + 1 }, (_unused, index) => `src/${index}.ts`)),
    );
    expect(all).toMatchObject({ level: 'medium', coverage: 'incomplete' });
    expect(assessRules(factsOf(['a'], { isTruncated: true }))).toMatchObject({
      level: 'medium',
      coverage: 'incomplete',
    });
  });

  it('a missing diff is critical', () => {
    expect(assessRules(factsOf([], { isDiffMissing: true }))).toMatchObject({
      level: 'critical',
      coverage: 'missing',
      needsHuman: true,
    });
  });

  it('the configuration adds, and nothing takes away', () => {
    const config = { critical: ['core/**'], medium: ['src/pay/**'] };
    expect(assessRules(factsOf(['core/x.ts']), config)).toMatchObject({ level: 'critical', needsHuman: true });
    expect(assessRules(factsOf(['src/pay/x.ts']), config)).toMatchObject({ level: 'medium' });
    expect(assessRules(factsOf(['.github/x']), { critical: [], medium: ['.github/**'] })).toMatchObject({
      level: 'critical',
    });
  });

  it('rules only raise: more changes never lower the risk', () => {
    const path = fc.constantFrom(
      'src/a.ts',
      'package-lock.json',
      '.github/x',
      'src/auth/x',
      'x.test.ts',
      'docs/a.md',
      '.env',
      'Makefile',
    );
    fc.assert(
      fc.property(fc.array(path), path, (paths, more) => {
        const level = (files: string[]): number => riskOrder.indexOf(assessRules(factsOf(files)).level);
        expect(level([...paths, more])).toBeGreaterThanOrEqual(level(paths));
      }),
    );
  });

  it('names the files that a review must read, and changes that only explain or test', () => {
    const facts = factsOf([
      'src/a.ts',
      'package-lock.json',
      fileFact('b.png', { isBinary: true }),
      fileFact('gone.ts', { status: 'deleted' }),
    ]);
    expect(
      assessRules(facts)
        .files.filter((file) => file.mustRead)
        .map((file) => file.path),
    ).toEqual(['src/a.ts']);
    expect(assessRules(factsOf(['docs/a.md', 'src/x.test.ts']))).toMatchObject({ isTrivial: true });
    expect(assessRules(factsOf(['docs/a.md', 'src/x.ts']))).toMatchObject({ isTrivial: false });
  });
});

describe('what is read from the diff itself', () => {
  it('scripts of package.json', () => {
    const before = JSON.stringify({ scripts: { test: 'a', build: 'b' }, version: '1' });
    expect(changedScripts(before, JSON.stringify({ scripts: { test: 'a', build: 'b' }, version: '2' }))).toEqual([]);
    expect(changedScripts(before, JSON.stringify({ scripts: { test: 'true', lint: 'x' } }))).toEqual([
      'build',
      'lint',
      'test',
    ]);
    expect(changedScripts(undefined, before)).toEqual(['build', 'test']);
    expect(changedScripts(before, '{broken')).toEqual(['(unreadable)']);
    expect(changedScripts(before, undefined)).toEqual(['build', 'test']);
  });

  it('skipped tests and secrets', () => {
    for (const line of [
      "it.skip('x', () => {})",
      "describe.only('x')",
      'xit("a")',
      '@pytest.mark.skip',
      '#[ignore]',
      't.Skip("x")',
      '@Disabled',
    ])
      expect([line, skipsTest([line])]).toEqual([line, true]);
    for (const line of ["it('skips blank lines')", 'const skip = 1', 'exit(1)', 'await fit.apply()'])
      expect([line, skipsTest([line])]).toEqual([line, false]);
    expect(holdsSecret(['key = "ghp_abcdefghijklmnopqrstuvwxyz0123456789"'])).toBe(true);
    expect(holdsSecret(['const token = readToken()'])).toBe(false);
  });
});
