import { readInside, readWord } from './read-word.ts';
import { deeper, expect, isAt, isAtEnd, type Reader, skipBlanks, take, takeLineFeed } from './reader.ts';
import {
  NotUnderstood,
  type ParsedShell,
  type ShellCommand,
  type ShellRedirection,
  type ShellWord,
} from './shell-command.ts';

/** Longest script that is taken apart. */
const maxLength = 100_000;

/**
 * Takes a shell script (POSIX with the usual bash forms) apart into its simple commands, those in substitutions, loops,
 * functions and subshells included. What is not understood is said, never guessed (gate decision 7).
 */
export function parseShell(text: string): ParsedShell {
  if (text.length > maxLength) return { isUnderstood: false, reason: 'longer than 100,000 characters' };
  if (/[^\P{Cc}\n\t]/u.test(text) || !text.isWellFormed())
    return { isUnderstood: false, reason: 'a control character' };
  const commands: ShellCommand[] = [];
  const reader: Reader = {
    text,
    at: 0,
    depth: 0,
    commands,
    documents: [],
    readSubstitution: readList,
    readBody: readInside,
  };
  try {
    readList(reader);
    if (!isAtEnd(reader)) throw new NotUnderstood(`${JSON.stringify(text[reader.at])} in an unexpected place`);
    if (reader.documents.length > 0) throw new NotUnderstood('a here-document has no end');
    return { isUnderstood: true, commands: reader.commands };
  } catch (error) {
    if (error instanceof NotUnderstood) return { isUnderstood: false, reason: error.message };
    throw error;
  }
}

const reservedEnds = ['then', 'elif', 'else', 'fi', 'do', 'done', 'esac', '}', 'in'];

/** Reads commands up to a closing parenthesis, a reserved word that ends a part, `;;`, or the end. */
function readList(reader: Reader): void {
  for (;;) {
    skipSeparators(reader);
    if (isAtEnd(reader) || isAt(reader, ')') || isAt(reader, ';;') || isAt(reader, ';&')) return;
    if (reservedEnds.some((word) => isReserved(reader, word))) return;
    readAndOr(reader);
    skipBlanks(reader);
    if (isAt(reader, ';;') || isAt(reader, ';&')) return;
    if (take(reader, ';') || (!isAt(reader, '&&') && take(reader, '&')) || takeLineFeed(reader)) continue;
    if (!isAtEnd(reader) && !isAt(reader, ')'))
      throw new NotUnderstood(`${JSON.stringify(reader.text[reader.at])} after a command`);
  }
}

function skipSeparators(reader: Reader): void {
  do skipBlanks(reader);
  while (takeLineFeed(reader));
}

function readAndOr(reader: Reader): void {
  readPipeline(reader);
  for (;;) {
    skipBlanks(reader);
    if (!take(reader, '&&') && !take(reader, '||')) return;
    skipSeparators(reader);
    readPipeline(reader);
  }
}

function readPipeline(reader: Reader): void {
  for (;;) {
    skipBlanks(reader);
    while (takeReserved(reader, '!') || takeReserved(reader, 'time')) skipBlanks(reader);
    readCommand(reader);
    skipBlanks(reader);
    if (isAt(reader, '||') || !(take(reader, '|&') || take(reader, '|'))) return;
    skipSeparators(reader);
  }
}

function readCommand(reader: Reader): void {
  deeper(reader, () => {
    if (readCompound(reader)) readTrailingRedirections(reader);
    else readSimple(reader);
  });
}

/** Reads a compound command, if one begins here. */
function readCompound(reader: Reader): boolean {
  // Two subshells for some shells, arithmetic for others.
  if (isAt(reader, '((')) throw new NotUnderstood('two parentheses');
  if (take(reader, '(')) {
    readList(reader);
    expect(reader, ')');
  } else if (takeReserved(reader, '{')) {
    readList(reader);
    expectReserved(reader, '}');
  } else if (takeReserved(reader, 'if')) readIf(reader);
  else if (takeReserved(reader, 'while') || takeReserved(reader, 'until')) {
    readList(reader);
    readDo(reader);
  } else if (takeReserved(reader, 'for') || takeReserved(reader, 'select')) readFor(reader);
  else if (takeReserved(reader, 'case')) readCase(reader);
  else if (takeReserved(reader, '[[')) readCondition(reader);
  else if (takeReserved(reader, 'function')) readFunction(reader);
  else if (isReserved(reader, 'coproc')) throw new NotUnderstood('coproc');
  else return false;
  return true;
}

function readIf(reader: Reader): void {
  readList(reader);
  expectReserved(reader, 'then');
  readList(reader);
  while (takeReserved(reader, 'elif')) {
    readList(reader);
    expectReserved(reader, 'then');
    readList(reader);
  }
  if (takeReserved(reader, 'else')) readList(reader);
  expectReserved(reader, 'fi');
}

function readDo(reader: Reader): void {
  expectReserved(reader, 'do');
  readList(reader);
  expectReserved(reader, 'done');
}

function readFor(reader: Reader): void {
  skipBlanks(reader);
  if (isAt(reader, '((')) {
    reader.at += 1;
    readLoopHead(reader);
  } else {
    const name = readWord(reader);
    if (!name || !/^[A-Za-z_]\w*$/.test(name.text)) throw new NotUnderstood('the name of a loop');
    skipSeparators(reader);
    if (takeReserved(reader, 'in')) {
      skipBlanks(reader);
      while (readWord(reader)) skipBlanks(reader);
    }
  }
  skipBlanks(reader);
  take(reader, ';');
  skipSeparators(reader);
  readDo(reader);
}

/** `((a; b; c))` of a loop. */
function readLoopHead(reader: Reader): void {
  const end = reader.text.indexOf('))', reader.at);
  if (end < 0) throw new NotUnderstood('the head of a loop');
  readInside(reader, reader.text.slice(reader.at + 1, end));
  reader.at = end + 2;
}

function readCase(reader: Reader): void {
  skipBlanks(reader);
  readWord(reader);
  skipSeparators(reader);
  expectReserved(reader, 'in');
  for (;;) {
    skipSeparators(reader);
    if (takeReserved(reader, 'esac')) return;
    take(reader, '(');
    do {
      skipBlanks(reader);
      if (!readWord(reader)) throw new NotUnderstood('a pattern of case');
      skipBlanks(reader);
    } while (take(reader, '|'));
    expect(reader, ')');
    readList(reader);
    if (take(reader, ';;&') || take(reader, ';;') || take(reader, ';&')) continue;
    expectReserved(reader, 'esac');
    return;
  }
}

/** `[[ … ]]`: nothing in it runs but substitutions. Operators in it are commands for shells without this form: not understood. */
function readCondition(reader: Reader): void {
  for (;;) {
    skipBlanks(reader);
    if (isAtEnd(reader)) throw new NotUnderstood('a condition is not closed');
    const word = readWord(reader);
    if (!word) throw new NotUnderstood('a condition');
    if (word.text === ']]' && !word.isQuoted) return;
  }
}

function readFunction(reader: Reader): void {
  skipBlanks(reader);
  if (!readWord(reader)) throw new NotUnderstood('the name of a function');
  skipBlanks(reader);
  if (take(reader, '(')) {
    skipBlanks(reader);
    expect(reader, ')');
  }
  skipSeparators(reader);
  readCommand(reader);
}

function readTrailingRedirections(reader: Reader): void {
  const redirections: ShellRedirection[] = [];
  for (;;) {
    skipBlanks(reader);
    const redirection = readRedirection(reader);
    if (!redirection) break;
    redirections.push(redirection);
  }
  if (redirections.length > 0) reader.commands.push({ words: [], assignments: [], redirections });
}

function readSimple(reader: Reader): void {
  const words: ShellWord[] = [];
  const assignments: { name: string; value: ShellWord }[] = [];
  const redirections: ShellRedirection[] = [];
  // Its place in the list is before the commands of its own substitutions.
  const command: ShellCommand = { words, assignments, redirections };
  reader.commands.push(command);
  for (;;) {
    skipBlanks(reader);
    const redirection = readRedirection(reader);
    if (redirection) {
      redirections.push(redirection);
      continue;
    }
    if (isAt(reader, '(') && words.length === 1 && assignments.length === 0) return readFunctionBody(reader, command);
    const word = readWord(reader);
    if (!word) break;
    const assignment = words.length === 0 ? /^([A-Za-z_]\w*)(\[[^\]]*\])?\+?=/.exec(word.text) : null;
    if (!assignment) words.push(word);
    else if (assignment[2] !== undefined || isAt(reader, '(')) throw new NotUnderstood('an array');
    else
      assignments.push({ name: assignment[1] ?? '', value: { ...word, text: word.text.slice(assignment[0].length) } });
  }
  if (words.length + assignments.length + redirections.length === 0) throw new NotUnderstood('a command is missing');
}

/** `name() body`: the body counts as if it ran here. */
function readFunctionBody(reader: Reader, command: ShellCommand): void {
  expect(reader, '(');
  skipBlanks(reader);
  expect(reader, ')');
  reader.commands.splice(reader.commands.indexOf(command), 1);
  skipSeparators(reader);
  readCommand(reader);
}

function readRedirection(reader: Reader): ShellRedirection | undefined {
  const found = /^(?:\d{0,3}(<<-|<<<|<<|<>|<&|>>|>\||>&|<|>)|(&>>|&>))/.exec(
    reader.text.slice(reader.at, reader.at + 8),
  );
  if (!found || isAt(reader, '<(') || isAt(reader, '>(')) return undefined;
  reader.at += found[0].length;
  const operator = found[1] ?? found[2] ?? '';
  skipBlanks(reader);
  const target = readWord(reader);
  if (!target) throw new NotUnderstood('a redirection without a target');
  if (operator !== '<<' && operator !== '<<-') return { operator, target };
  if (!target.isStatic) throw new NotUnderstood('the delimiter of a here-document');
  const body: ShellWord = { text: '', isStatic: target.isQuoted, hasGlob: false, isQuoted: true };
  reader.documents.push({
    delimiter: target.text,
    stripsTabs: operator === '<<-',
    isLiteral: target.isQuoted,
    target: body,
  });
  return { operator: '<<', target: body };
}

function isReserved(reader: Reader, word: string): boolean {
  if (!isAt(reader, word)) return false;
  const next = reader.text[reader.at + word.length];
  return next === undefined || /[\s;&|<>()]/.test(next);
}

function takeReserved(reader: Reader, word: string): boolean {
  if (!isReserved(reader, word)) return false;
  reader.at += word.length;
  return true;
}

function expectReserved(reader: Reader, word: string): void {
  skipSeparators(reader);
  if (!takeReserved(reader, word)) throw new NotUnderstood(`${JSON.stringify(word)} is missing`);
}
