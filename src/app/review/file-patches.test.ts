import { renameSync, rmSync } from 'node:fs';
import { join } from 'node:path';

import { pino } from 'pino';
import { describe, expect, it, onTestFinished } from 'vitest';

import {
  adoptRepository,
  commitAll,
  git,
  makeRepository,
  openForgeWorld,
  writeFiles,
} from '../../../test/repositories/index.ts';
import type { PullRequest } from '../../review/index.ts';
import type { AppContext } from '../context.ts';
import { linesOfPatch, readFilePatches } from './file-patches.ts';
import { requireShownWhole } from './require-seen.ts';
import { readRiskFacts } from './risk-facts.ts';
import { diffView } from './views.ts';
import { visiblePatch } from './visible-patch.ts';

const start = { 'README.md': 'one\n', 'src/a.js': 'export {};\n', 'my old file.js': '1\n2\n3\n4\n', kind: 'file\n' };
const token = `ghp_${'a1B2'.repeat(10)}`;

/** A repository with one change; its base and head lie in the forge as after a delivery. */
async function setup(change: (folder: string) => void) {
  const world = await openForgeWorld();
  const checkout = makeRepository(join(world.folder, 'checkout'), start);
  const base = git(checkout, 'rev-parse', 'HEAD');
  change(checkout);
  const head = commitAll(checkout, 'Change');
  const repository = await adoptRepository(world, checkout);
  const ctx = { forge: world.forge, log: pino({ level: 'silent' }) } as unknown as AppContext;
  const pullRequest = { number: 1, baseSha: base, headSha: head, riskReasons: [] } as unknown as PullRequest;
  onTestFinished(() => rmSync(world.folder, { recursive: true, force: true }));
  const diff = await diffView(ctx, repository, pullRequest);
  const fileOf = (path: string) => diff.files.find((file) => file.path === path);
  return { ctx, repository, pullRequest, diff, fileOf };
}

describe('the diff that a human approves', () => {
  it.each([
    ['a space', 'my file.js', 'my file.js'],
    ['a quote', 'a"b.js', 'a"b.js'],
    ['a tab', 'a\tb.js', 'a⇥b.js'],
    ['a letter that is not ASCII', 'naïve.js', 'naïve.js'],
    ['a line separator', 'a\u2028b.js', 'a\\u{2028}b.js'],
    ['a line feed', 'a\nb.js', 'a\\u{000A}b.js'],
    ['magic of pathspecs', ':(exclude)x*.js', ':(exclude)x*.js'],
  ])('shows a file whose name has %s', async (_what, name, shown) => {
    const { diff, fileOf } = await setup((folder) => writeFiles(folder, { [name]: 'steal();\n' }));
    expect(fileOf(shown)).toMatchObject({ added: 1, notShown: null });
    expect(fileOf(shown)?.patch).toContain('+steal();');
    expect(diff).toMatchObject({ isTruncated: false, reason: null });
  });

  it.each([
    ['U+2028', '\u2028', '\\u{2028}'],
    ['U+2029', '\u2029', '\\u{2029}'],
    ['a carriage return', '\r', '\\u{000D}'],
  ])('does not take a line of a file behind %s for the head of the next file', async (_what, end, shown) => {
    const line = `// ok${end}diff --git a/x b/x${end}+++ b/README.md`;
    const { fileOf } = await setup((folder) =>
      writeFiles(folder, { 'README.md': 'one\ntwo\n', 'evil.js': `${line}\nsteal();\n` }),
    );
    expect(fileOf('evil.js')?.patch).toContain(`+// ok${shown}diff --git a/x b/x${shown}+++ b/README.md\n+steal();`);
    expect(fileOf('README.md')?.patch).toContain('+two');
  });

  it('writes out what would reorder or hide text', async () => {
    const { fileOf } = await setup((folder) => writeFiles(folder, { 'a.js': `if (x\u202e\u2066) y\u200b();\n` }));
    expect(fileOf('a.js')?.patch).toContain('+if (x\\u{202E}\\u{2066}) y\\u{200B}();');
  });

  it('shows renames, a file that becomes a folder, and a change of kind', async () => {
    const { diff, fileOf } = await setup((folder) => {
      renameSync(join(folder, 'my old file.js'), join(folder, 'my new file.js'));
      rmSync(join(folder, 'kind'));
      writeFiles(folder, { 'kind/inner.txt': 'quite something else\n' });
    });
    expect(fileOf('my new file.js')).toMatchObject({ oldPath: 'my old file.js', status: 'renamed' });
    expect(fileOf('my new file.js')?.patch).toContain('rename from my old file.js');
    expect(fileOf('kind')?.patch).toContain('-file');
    expect(fileOf('kind/inner.txt')?.patch).toContain('+quite something else');
    expect(diff.isTruncated).toBe(false);
  });

  it('says which file it cannot show whole, and such a change is not approved unseen (P5)', async () => {
    const { ctx, repository, pullRequest, diff, fileOf } = await setup((folder) =>
      writeFiles(folder, { 'big.txt': `${'x'.repeat(99)}\n`.repeat(12_000), 'small.txt': 'small\n' }),
    );
    expect(fileOf('big.txt')).toMatchObject({ patch: null, notShown: 'its change is too large to show' });
    expect(fileOf('small.txt')?.patch).toContain('+small');
    expect(diff).toMatchObject({ isTruncated: true, reason: expect.stringContaining('1 of 2 files') });
    expect(await requireShownWhole(ctx, repository, pullRequest, false)).toMatchObject({
      refusal: { code: 'not_shown_whole', facts: { files: ['big.txt'] } },
    });
    expect(await requireShownWhole(ctx, repository, pullRequest, true)).toMatchObject({ ok: true });
  });

  it('keeps all patches together within bounds, and says what is left out', async () => {
    const { ctx, repository, pullRequest } = await setup((folder) =>
      writeFiles(folder, { a: 'a\n'.repeat(400), b: 'b\n'.repeat(400), c: 'c\n' }),
    );
    const change = { base: pullRequest.baseSha, head: pullRequest.headSha };
    const { changedFiles } = await import('../../forge/index.ts');
    const { files } = await changedFiles(ctx.forge, repository, change.base, change.head);
    const patches = await readFilePatches(ctx, repository, { ...change, files }, { totalBytes: 500, files: 2 });
    expect(patches.map(({ notShown }) => notShown)).toEqual([
      'its change is too large to show',
      'its change is too large to show',
      'the change has more than 2 files',
    ]);
  });
});

describe('risk', () => {
  it('R-38: finds a secret behind a line that looks like a head of a patch', async () => {
    const { ctx, repository, pullRequest } = await setup((folder) =>
      writeFiles(folder, { 'src/a.js': `${token}\n++ b/src/a.js\nexport {};\n`, 'my file.js': `x = '${token}'\n` }),
    );
    expect((await readRiskFacts(ctx, repository, pullRequest)).secrets.toSorted()).toEqual(['my file.js', 'src/a.js']);
  });
});

describe('a patch', () => {
  it('is read by the counts of its hunks', () => {
    const patch = 'diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1,3 @@\n-old\n+++ b/y\n+@@ -1 +1 @@\n+-- a/y\n';
    expect(linesOfPatch(patch)).toEqual({ added: ['++ b/y', '@@ -1 +1 @@', '-- a/y'], removed: 1 });
    expect(linesOfPatch('')).toBeUndefined();
    expect(linesOfPatch('@@ -1 +1,2 @@\n-a\n+b')).toBeUndefined();
  });

  it('keeps ordinary indentation and writes out a run of spaces that hides what follows', () => {
    expect(visiblePatch(`+${' '.repeat(24)}return;`)).toBe(`+${' '.repeat(24)}return;`);
    expect(visiblePatch(`+ok;${' '.repeat(200)}steal();`)).toBe('+ok;[200 spaces]steal();');
    expect(visiblePatch(`+${' '.repeat(200)}steal();`)).toBe('+[200 spaces]steal();');
  });
});
