import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

import { parseSync } from 'oxc-parser';

import { refusalOutcomes } from '../../../src/kernel/index.ts';
import { code, type Page, page, table } from './page.ts';

/** One place of the program that says no: the code, its kind (or `fault`), and the sentence with its gaps as `…`. */
interface SaidNo {
  folder: string;
  code: string;
  kinds: readonly string[];
  message: string;
}

const meanings: Readonly<Record<keyof typeof refusalOutcomes, string>> = {
  invalid: 'The request itself is wrong; every fault that was found is named.',
  'not-found': 'There is nothing under this name or id.',
  'wrong-state': 'It exists, but not in a state in which this is possible; the state is named.',
  duplicate: 'It exists already.',
  held: 'Somebody else holds it; the holder is named.',
  'idempotency-conflict': 'The key was used before, for something else.',
  quota: 'As many as may be are there already; another try later can succeed.',
  budget: 'The budget is used up.',
  'not-permitted': 'Whoever asks may not do this.',
  'proof-required': 'A human has to give the passphrase.',
  unreachable: 'The server, or what it needs, does not answer.',
  'not-landed': 'It ended without landing; the reason is said.',
  'still-open': 'The time of `--wait` is over and it has not ended.',
};

const intro = `A refusal is a "no" that the caller can act on. It has a kind, which gives the HTTP status and the exit code, a stable code for
programs, and a sentence for people: what happened, to which id, what to do next. Refusing changes nothing.

A *fault* is a failure of the world (disk, database, git, an agent): status 503 where trying again can help, else 500, and exit code 1.`;

/** Kinds with status and exit code, and every code that the sources name. */
export function refusalsPage(): Page {
  const kinds = Object.entries(refusalOutcomes).map(([kind, { status, exitCode }]) => [
    code(kind),
    String(status),
    String(exitCode),
    meanings[kind as keyof typeof refusalOutcomes],
  ]);
  const sections = [...Map.groupBy(everyNo(), ({ folder }) => folder)].map(
    ([folder, noes]) =>
      `## ${folder}\n\n${table(
        ['Code', 'Kind', 'What it says'],
        noes.map((no) => [code(no.code), no.kinds.join(', '), no.message]),
      )}`,
  );
  return page(
    'docs/reference/refusals.md',
    'Refusals and faults',
    intro,
    table(['Kind', 'HTTP', 'Exit', 'Meaning'], kinds),
    ...sections,
  );
}

let found: SaidNo[] | undefined;

/** Every refusal and fault that the sources name with a literal code, once for each folder and code, sorted. */
export function everyNo(): readonly SaidNo[] {
  found ??= findEveryNo();
  return found;
}

function findEveryNo(): SaidNo[] {
  const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', 'src/*.ts'], {
    encoding: 'utf8',
  });
  const byKey = new Map<string, SaidNo>();
  for (const file of files.split('\n').filter((name) => name !== '' && !/\.test\.ts$|\/testing/.test(name))) {
    for (const no of noesOf(file)) {
      const key = `${no.folder} ${no.code}`;
      const before = byKey.get(key);
      if (!before) byKey.set(key, no);
      else byKey.set(key, { ...before, kinds: [...new Set([...before.kinds, ...no.kinds])] });
    }
  }
  return [...byKey.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, no]) => no);
}

interface Node {
  type: string;
  [key: string]: unknown;
}

function noesOf(file: string): SaidNo[] {
  let source: string;
  try {
    source = readFileSync(file, 'utf8');
  } catch {
    return []; // Deleted, but not yet from the index.
  }
  if (!/\b(?:refuse|failWith|Fault)\(|\bkind:/.test(source)) return [];
  const folder = file.split('/')[1]!.replace(/\.ts$/, '');
  const noes: SaidNo[] = [];
  walk(parseSync(file, source).program as unknown as Node, (node) => {
    const [kinds, codes, message] = readNo(node);
    for (const word of codes) noes.push({ folder, code: word, kinds, message });
  });
  return noes;
}

/** Kinds, codes and sentence of `refuse(kind, code, message)`, `failWith(…)`, `new Fault(code, message)` and `{ kind, code, message }`. */
function readNo(node: Node): [kinds: string[], codes: string[], message: string] {
  const args = node.arguments as Node[] | undefined;
  const callee = node.callee as (Node & { name?: string }) | undefined;
  if (node.type === 'CallExpression' && (callee?.name === 'refuse' || callee?.name === 'failWith')) {
    return [literals(args?.[0]), literals(args?.[1]), wordsOf(args?.[2])];
  }
  if (node.type === 'NewExpression' && callee?.name === 'Fault') {
    return [['fault'], literals(args?.[0]), wordsOf(args?.[1])];
  }
  if (node.type === 'ObjectExpression') {
    const value = (name: string) =>
      (node.properties as (Node & { key?: { name?: string }; value?: Node })[]).find(({ key }) => key?.name === name)
        ?.value;
    const kinds = literals(value('kind')).filter((kind) => kind in refusalOutcomes);
    if (kinds.length > 0) return [kinds, literals(value('code')), wordsOf(value('message'))];
  }
  return [[], [], ''];
}

function literals(node: Node | undefined): string[] {
  if (node?.type === 'Literal' && typeof node.value === 'string') return [node.value];
  if (node?.type === 'ConditionalExpression') {
    return [...literals(node.consequent as Node), ...literals(node.alternate as Node)];
  }
  return [];
}

function wordsOf(node: Node | undefined): string {
  return rawWordsOf(node).replaceAll(/\s+/g, ' ');
}

function rawWordsOf(node: Node | undefined): string {
  if (node?.type === 'Literal') return String(node.value);
  if (node?.type === 'TemplateLiteral') {
    return (node.quasis as { value: { cooked: string } }[]).map(({ value }) => value.cooked).join('…');
  }
  if (node?.type === 'BinaryExpression') return `${wordsOf(node.left as Node)}${wordsOf(node.right as Node)}`;
  if (node?.type === 'ConditionalExpression') {
    return [wordsOf(node.consequent as Node), wordsOf(node.alternate as Node)]
      .filter((text) => text !== '')
      .join(' / ');
  }
  return '…';
}

function walk(node: Node, visit: (node: Node) => void): void {
  visit(node);
  for (const value of Object.values(node)) {
    for (const child of Array.isArray(value) ? value : [value]) {
      if (typeof child === 'object' && child !== null && typeof (child as Node).type === 'string') {
        walk(child as Node, visit);
      }
    }
  }
}
