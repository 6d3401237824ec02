import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { parseShell } from './parse-shell.ts';

/** Each command as its words; `~` before a word that is not static. */
function wordsOf(script: string): string[][] | string {
  const parsed = parseShell(script);
  if (!parsed.isUnderstood) return `not understood: ${parsed.reason}`;
  return parsed.commands.map((command) => command.words.map((word) => (word.isStatic ? word.text : `~${word.text}`)));
}

describe('takes apart', () => {
  const cases: [string, string[][]][] = [
    ['ls', [['ls']]],
    ['a b && c || d; e & f', [['a', 'b'], ['c'], ['d'], ['e'], ['f']]],
    ['a | b |& c', [['a'], ['b'], ['c']]],
    [`g"i"t pu''sh 'or'igin`, [['git', 'push', 'origin']]],
    [String.raw`git\ push g\it`, [['git push', 'git']]],
    ["echo $'a\\x41\\n'", [['echo', 'aA\n']]],
    ['(a; b) > out', [['a'], ['b'], []]],
    ['{ a; b; }', [['a'], ['b']]],
    ['if a; then b; elif c; then d; else e; fi', [['a'], ['b'], ['c'], ['d'], ['e']]],
    ['while a; do b; done', [['a'], ['b']]],
    ['for x in 1 2 $(c); do d $x; done', [['c'], ['d', '~$x']]],
    ['for ((i=0; i<$(c); i++)); do d; done', [['c'], ['d']]],
    ['case $x in a|b) c;; *) d ;; esac', [['c'], ['d']]],
    ['f() { a; }; f', [['a'], ['f']]],
    ['function f { a; }', [['a']]],
    ['[[ -f a ]] && b', [['b']]],
    ['a $(b $(c) `d`)', [['a', '~'], ['b', '~', '~'], ['c'], ['d']]],
    ['a "x $(b) y"', [['a', '~x  y'], ['b']]],
    ['a <(b) >(c)', [['a', '~', '~'], ['b'], ['c']]],
    ['a ${x:-$(b)}', [['a', '~'], ['b']]],
    ['a $((1 + $(b)))', [['a', '~'], ['b']]],
    ['a # b; c\nd', [['a'], ['d']]],
    ['a \\\n b', [['a', 'b']]],
    ['git p{u,}sh', [['git', '~p{u,}sh']]],
    ['find . -exec rm {} \\;', [['find', '.', '-exec', 'rm', '{}', ';']]],
    ['! a', [['a']]],
    ['cat ~/x', [['cat', '~~/x']]],
  ];
  it.each(cases)('%s', (script, expected) => expect(wordsOf(script)).toEqual(expected));
});

it('keeps assignments, redirections and here-documents apart from words (decision 7)', () => {
  const parsed = parseShell(`A=1 B="$x" cmd arg > out.txt 2>&1 < in <<'EOF'\nbody $(not run)\nEOF\nnext`);
  if (!parsed.isUnderstood) throw new Error(parsed.reason);
  const [command, next] = parsed.commands;
  expect(command?.assignments.map(({ name, value }) => [name, value.text, value.isStatic])).toEqual([
    ['A', '1', true],
    ['B', '$x', false],
  ]);
  expect(command?.redirections.map(({ operator, target }) => [operator, target.text])).toEqual([
    ['>', 'out.txt'],
    ['>&', '1'],
    ['<', 'in'],
    ['<<', 'body $(not run)'],
  ]);
  expect(next?.words.map((word) => word.text)).toEqual(['next']);
  expect(parsed.commands).toHaveLength(2);
});

it('finds the commands of a here-document that is expanded, and of one inside a substitution', () => {
  expect(wordsOf('cat <<EOF\n$(a) `b`\nEOF')).toEqual([['cat'], ['a'], ['b']]);
  expect(wordsOf(`git commit -m "$(cat <<'EOF'\nit's $(fine)\nEOF\n)" && next`)).toEqual([
    ['git', 'commit', '-m', '~'],
    ['cat'],
    ['next'],
  ]);
});

describe('says that it does not understand', () => {
  const cases = [
    `echo 'a`,
    'echo "a',
    'a && ',
    'a | ',
    'if a; then b',
    'a=(1 2)',
    'a[0]=x b',
    'coproc a',
    'ls !(x)',
    '((a))',
    '[[ a && b ]]',
    '${x@P}',
    `echo \${x#'}'}; git push; echo 'a'`,
    `echo $'\\' ; git push #'`,
    'cat <<EOF\nx',
    'a\rb',
    'a ) b',
    '$[1+1]',
    '`a',
    'echo $(a',
  ];
  it.each(cases)('%s', (script) => expect(parseShell(script).isUnderstood).toBe(false));
});

it('never throws and never hides the program of a plain command, whatever stands around it', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'ab $"\'\\`(){};&|<>\n#*~=[]') }), (text) => {
      parseShell(text);
      const after = parseShell(`git push\n${text}`);
      if (after.isUnderstood) expect(after.commands[0]?.words.map((word) => word.text)).toEqual(['git', 'push']);
    }),
    { numRuns: 2000 },
  );
});
