import { deeper, expect, isAt, isAtEnd, type Reader, take } from './reader.ts';
import { NotUnderstood, type ShellWord } from './shell-command.ts';

/** Characters that end an unquoted word. */
const endsWord = /[\s;&|<>()]/;

/** Reads one word at the current place, or `undefined` when none begins there. Commands inside it join the reader's list. */
export function readWord(reader: Reader): ShellWord | undefined {
  const word: ShellWord = { text: '', isStatic: true, hasGlob: false, isQuoted: false };
  const start = reader.at;
  while (!isAtEnd(reader)) {
    if (isAt(reader, '<(') || isAt(reader, '>(')) {
      reader.at += 2;
      readCommands(reader);
      word.isStatic = false;
      continue;
    }
    const char = reader.text[reader.at] as string;
    if (char === '(' && reader.at > start && !isFunctionName(reader, word))
      throw new NotUnderstood('a pattern with parentheses');
    if (endsWord.test(char)) break;
    readPart(reader, word, char);
  }
  if (reader.at === start) return undefined;
  if (word.isStatic && !word.isQuoted && /^~|[:=]~/.test(word.text)) word.isStatic = false;
  return word;
}

function isFunctionName(reader: Reader, word: ShellWord): boolean {
  return (
    word.isStatic &&
    !word.isQuoted &&
    /^[\w-]+$/.test(word.text) &&
    /^\([ \t]*\)/.test(reader.text.slice(reader.at, reader.at + 20))
  );
}

function readPart(reader: Reader, word: ShellWord, char: string): void {
  if (char === "'") return readSingle(reader, word);
  if (char === '"') return readDouble(reader, word);
  if (char === '$') return readDollar(reader, word);
  if (char === '`') return readBackquote(reader, word);
  reader.at += 1;
  if (char === '\\') {
    const next = reader.text[reader.at];
    if (next === undefined) throw new NotUnderstood('a backslash at the end');
    reader.at += 1;
    if (next === '\n') return;
    word.isQuoted = true;
    word.text += next;
    return;
  }
  if (char === '*' || char === '?' || char === '[') word.hasGlob = true;
  if ((char === '{' || char === '}') && !isEmptyBraces(reader)) word.isStatic = false;
  word.text += char;
}

/** `{}`, as `find` takes it, is plain text; other braces multiply words. The brace was just passed. */
function isEmptyBraces(reader: Reader): boolean {
  return (
    reader.text.slice(reader.at - 1, reader.at + 1) === '{}' || reader.text.slice(reader.at - 2, reader.at) === '{}'
  );
}

function readSingle(reader: Reader, word: ShellWord): void {
  const end = reader.text.indexOf("'", reader.at + 1);
  if (end < 0) throw new NotUnderstood('a quote is not closed');
  word.text += reader.text.slice(reader.at + 1, end);
  word.isQuoted = true;
  reader.at = end + 1;
}

function readDouble(reader: Reader, word: ShellWord): void {
  reader.at += 1;
  word.isQuoted = true;
  readExpanded(reader, word, '"');
  expect(reader, '"');
}

/** Reads text in which only `$`, backquotes and backslashes mean something, up to `end` (exclusive) or the end of the text. */
export function readExpanded(reader: Reader, word: ShellWord, end: string | undefined): void {
  while (!isAtEnd(reader)) {
    const char = reader.text[reader.at] as string;
    if (char === end) return;
    if (char === '$') readDollar(reader, word, true);
    else if (char === '`') readBackquote(reader, word);
    else if (char === '\\') {
      const next = reader.text[reader.at + 1];
      if (next === undefined) throw new NotUnderstood('a backslash at the end');
      reader.at += 2;
      if (next === '\n') continue;
      word.text += next === '$' || next === '`' || next === '\\' || next === end ? next : `\\${next}`;
    } else {
      word.text += char;
      reader.at += 1;
    }
  }
  if (end !== undefined) throw new NotUnderstood('a quote is not closed');
}

function readDollar(reader: Reader, word: ShellWord, isQuoted = false): void {
  const next = reader.text[reader.at + 1];
  if (!isQuoted && next === "'") return readAnsi(reader, word);
  if (!isQuoted && next === '"') {
    reader.at += 1;
    return readDouble(reader, word);
  }
  if (next === '(') {
    word.isStatic = false;
    return readDollarParenthesis(reader);
  }
  if (next === '{') {
    word.isStatic = false;
    return readParameter(reader);
  }
  if (next === '[') throw new NotUnderstood('old arithmetic');
  const name = /^\$(?:[A-Za-z_][A-Za-z0-9_]*|[0-9@*#?$!-])/.exec(reader.text.slice(reader.at, reader.at + 300));
  if (name) {
    word.isStatic = false;
    word.text += name[0];
    reader.at += name[0].length;
    return;
  }
  word.text += '$';
  reader.at += 1;
}

/** `$(commands)`, or `$((arithmetic))`, which may hold commands too. */
function readDollarParenthesis(reader: Reader): void {
  reader.at += 2;
  if (isAt(reader, '(') && arithmeticEnd(reader) !== undefined) return readArithmetic(reader);
  readCommands(reader);
}

function readCommands(reader: Reader): void {
  deeper(reader, () => reader.readSubstitution(reader));
  expect(reader, ')');
}

/** Reads `(…))` of an arithmetic expression; substitutions inside are commands like others. */
function readArithmetic(reader: Reader): void {
  const end = arithmeticEnd(reader);
  if (end === undefined) throw new NotUnderstood('arithmetic without an end');
  const inside = reader.text.slice(reader.at + 1, end);
  readInside(reader, inside);
  reader.at = end + 2;
}

/** Place of the `))` that ends the arithmetic whose second `(` is here, or `undefined` when these are two parentheses. */
function arithmeticEnd(reader: Reader): number | undefined {
  let open = 0;
  for (let at = reader.at + 1; at < reader.text.length; at++) {
    const char = reader.text[at];
    if (char === "'" || char === '"' || char === '\\' || char === ';') return undefined;
    if (char === '(') open += 1;
    if (char === ')') {
      if (open === 0) return reader.text[at + 1] === ')' ? at : undefined;
      open -= 1;
    }
  }
  return undefined;
}

/**
 * `${…}`; what stands inside may hold commands. Quotes in it are not understood (shells differ about where it then ends),
 * nor is `@P`, which runs the value as a prompt.
 */
function readParameter(reader: Reader): void {
  const start = reader.at + 2;
  let open = 1;
  let at = start;
  for (; at < reader.text.length && open > 0; at++) {
    const char = reader.text[at] as string;
    if (/['"\\`]/.test(char)) throw new NotUnderstood('quotes in a parameter');
    if (char === '{') open += 1;
    else if (char === '}') open -= 1;
  }
  if (open > 0) throw new NotUnderstood('a parameter is not closed');
  const inside = reader.text.slice(start, at - 1);
  if (/@[A-Za-z]\s*$/.test(inside)) throw new NotUnderstood('a parameter that is transformed');
  readInside(reader, inside);
  reader.at = at;
}

/** Finds the commands in a piece of text that is expanded but is not itself a command. */
export function readInside(reader: Reader, text: string): void {
  const inner: Reader = { ...reader, text, at: 0, documents: [] };
  deeper(reader, () => {
    inner.depth = reader.depth;
    readExpanded(inner, { text: '', isStatic: true, hasGlob: false, isQuoted: true }, undefined);
  });
  if (inner.documents.length > 0) throw new NotUnderstood('a here-document has no end');
}

function readBackquote(reader: Reader, word: ShellWord): void {
  let inside = '';
  let at = reader.at + 1;
  for (; at < reader.text.length && reader.text[at] !== '`'; at++) {
    if (reader.text[at] === '\\' && /[`\\$]/.test(reader.text[at + 1] ?? '')) at += 1;
    inside += reader.text[at] ?? '';
  }
  if (at >= reader.text.length) throw new NotUnderstood('a backquote is not closed');
  reader.at = at + 1;
  word.isStatic = false;
  const inner: Reader = { ...reader, text: `${inside})`, at: 0, documents: [] };
  deeper(reader, () => {
    inner.depth = reader.depth;
    inner.readSubstitution(inner);
  });
  if (inner.at !== inside.length || inner.documents.length > 0) throw new NotUnderstood('a backquoted command');
}

const escapes: Readonly<Record<string, string>> = {
  n: '\n',
  t: '\t',
  r: '\r',
  a: '\u0007',
  b: '\b',
  e: '\u001B',
  E: '\u001B',
  f: '\f',
  v: '\v',
  '\\': '\\',
  '"': '"',
  '?': '?',
};

/** `$'…'` with its escapes. */
function readAnsi(reader: Reader, word: ShellWord): void {
  reader.at += 2;
  word.isQuoted = true;
  while (!take(reader, "'")) {
    if (isAtEnd(reader)) throw new NotUnderstood('a quote is not closed');
    const char = reader.text[reader.at] as string;
    reader.at += 1;
    if (char !== '\\') {
      word.text += char;
      continue;
    }
    const rest = reader.text.slice(reader.at, reader.at + 10);
    const number = /^(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,6})|([0-7]{1,3}))/.exec(rest);
    const plain = escapes[rest[0] ?? ''];
    // Shells without this form end the quote here.
    if (rest.startsWith("'")) throw new NotUnderstood('an escaped quote');
    if (number) {
      const hex = number[1] ?? number[2] ?? number[3];
      const code = hex === undefined ? Number.parseInt(number[4] ?? '', 8) & 0xff : Number.parseInt(hex, 16);
      if (code === 0 || code > 0x10ffff) throw new NotUnderstood('an escape');
      word.text += String.fromCodePoint(code);
      reader.at += number[0].length;
    } else if (plain !== undefined) {
      word.text += plain;
      reader.at += 1;
    } else throw new NotUnderstood('an escape');
  }
}
