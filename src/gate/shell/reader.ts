import { NotUnderstood, type ShellCommand, type ShellWord } from './shell-command.ts';

/** A here-document whose body starts after the next line feed. */
export interface PendingDocument {
  delimiter: string;
  stripsTabs: boolean;
  /** A quoted delimiter: nothing in the body is expanded. */
  isLiteral: boolean;
  target: ShellWord;
}

/** Where the parser stands in the text, and what it found so far. Shared by the words and the grammar. */
export interface Reader {
  readonly text: string;
  at: number;
  /** Substitutions inside substitutions; bounded. */
  depth: number;
  readonly commands: ShellCommand[];
  readonly documents: PendingDocument[];
  /** Reads a list of commands up to `)`; set by the grammar, used by substitutions in words. */
  readSubstitution(reader: Reader): void;
  /** Finds the commands in the body of a here-document; set by the grammar. */
  readBody(reader: Reader, text: string): void;
}

const deepest = 40;

/** Runs `read` one level deeper. */
export function deeper(reader: Reader, read: () => void): void {
  reader.depth += 1;
  if (reader.depth > deepest) throw new NotUnderstood('nested too deep');
  read();
  reader.depth -= 1;
}

/** Whether `text` stands at the current place. */
export function isAt(reader: Reader, text: string): boolean {
  return reader.text.startsWith(text, reader.at);
}

export function take(reader: Reader, text: string): boolean {
  if (!isAt(reader, text)) return false;
  reader.at += text.length;
  return true;
}

export function expect(reader: Reader, text: string): void {
  if (!take(reader, text)) throw new NotUnderstood(`${JSON.stringify(text)} is missing`);
}

export function isAtEnd(reader: Reader): boolean {
  return reader.at >= reader.text.length;
}

/** Skips spaces, tabs, joined lines and a comment. */
export function skipBlanks(reader: Reader): void {
  for (;;) {
    const char = reader.text[reader.at];
    if (char === ' ' || char === '\t') reader.at += 1;
    else if (isAt(reader, '\\\n')) reader.at += 2;
    else if (char === '#') {
      const end = reader.text.indexOf('\n', reader.at);
      reader.at = end < 0 ? reader.text.length : end;
    } else return;
  }
}

/** Takes a line feed with the here-documents that follow it. */
export function takeLineFeed(reader: Reader): boolean {
  if (!take(reader, '\n')) return false;
  for (const document of reader.documents.splice(0)) readDocument(reader, document);
  return true;
}

function readDocument(reader: Reader, document: PendingDocument): void {
  const lines: string[] = [];
  for (;;) {
    if (isAtEnd(reader)) throw new NotUnderstood('a here-document has no end');
    const end = reader.text.indexOf('\n', reader.at);
    const stop = end < 0 ? reader.text.length : end;
    const raw = reader.text.slice(reader.at, stop);
    const line = document.stripsTabs ? raw.replace(/^\t+/, '') : raw;
    reader.at = end < 0 ? stop : stop + 1;
    if (line === document.delimiter) break;
    lines.push(line);
  }
  document.target.text = lines.join('\n');
  document.target.isStatic = document.isLiteral || !/[$`\\]/.test(document.target.text);
  if (!document.isLiteral) reader.readBody(reader, document.target.text);
}
