import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';

import { describe, expect, test } from 'vitest';

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { encoding: 'utf8' })
  .split('\n')
  .filter((file) => file !== '' && existsSync(file) && statSync(file).isFile() && statSync(file).size < 1_000_000);
const pages = tracked.filter((file) => file.endsWith('.md'));

test('every relative link of every page leads to a file and a heading that exist', () => {
  const broken = pages.flatMap((page) =>
    linksOf(page)
      .filter((link) => !resolves(page, link))
      .map((link) => [page, link]),
  );
  expect(broken).toEqual([]);
});

test('every guide, state page, reference page and decision is reached from docs/README.md', () => {
  const linked = new Set(linksOf('docs/README.md').map((link) => normalize(join('docs', link.replace(/#.*$/, '')))));
  const wanted = pages.filter((page) => /^docs\/(guide|states|reference|decisions)\//.test(page));
  expect(wanted.filter((page) => !linked.has(page))).toEqual([]);
});

test('every command that a page shows is a verb of the program', async () => {
  const { aliases, commands } = await import('../../src/cli/index.ts');
  const known = new Set([...Object.keys(commands), ...Object.keys(aliases)]);
  const unknown = pages.flatMap((page) =>
    [...readFileSync(page, 'utf8').matchAll(/(?:^|[`$] ?|bin\/)chantier ([a-z][a-z-]*)/gm)]
      .filter(([, verb]) => !known.has(verb!))
      .map(([, verb]) => [page, verb]),
  );
  expect(unknown).toEqual([]);
});

describe('no file of the repository has', () => {
  const dot = (...parts: string[]) => parts.join('.');
  const forbidden: Readonly<Record<string, RegExp>> = {
    'the name of a package registry’s host': new RegExp(
      ['npmjs', 'pypi', 'crates', 'rubygems', 'golang'].map((name) => `${name}\\.(?:org|io)\\b`).join('|'),
    ),
    'a path of somebody’s machine': new RegExp(
      `(?<![\\w.@~-])/(?:${['work', 'Users', 'tmp/plan'].join('|')})/(?:${['main', 'shared', '\\w+/Projects'].join('|')})\\b`,
    ),
    'a trailer of a tool that helped to write it': new RegExp(
      `${'co-authored'}-by|generated (?:with|by) \\[?(?:claude|codex|gemini|copilot)`,
      'i',
    ),
    'the address of a lockfile’s registry': new RegExp(`"resolved": "https?://(?!${dot('registry', 'test')})`),
  };
  test.each(Object.keys(forbidden))('%s', (name) => {
    const found = tracked.filter(
      (file) => file !== 'test/docs/prose.test.ts' && forbidden[name]!.test(readFileSync(file, 'utf8')),
    );
    expect(found).toEqual([]);
  });
});

function linksOf(page: string): string[] {
  const text = readFileSync(page, 'utf8').replaceAll(/```[\s\S]*?```/g, '');
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link!).filter((link) => !/^[a-z]+:/.test(link));
}

function resolves(page: string, link: string): boolean {
  const [path, heading] = link.split('#');
  const target = path === '' ? page : normalize(join(dirname(page), path!));
  if (!existsSync(target)) return false;
  return heading === undefined || !target.endsWith('.md') || headingsOf(target).has(heading);
}

/** Anchors as forges make them: lower case, spaces as dashes, without punctuation. */
function headingsOf(page: string): Set<string> {
  const headings = readFileSync(page, 'utf8').matchAll(/^#+ (.+)$/gm);
  return new Set(
    [...headings].map(([, text]) =>
      text!
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
        .trim()
        .replaceAll(/\s/g, '-'),
    ),
  );
}
