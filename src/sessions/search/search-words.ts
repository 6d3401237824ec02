import { stripControls } from '../readable/strip-controls.ts';

/** What is looked for: words and phrases, folded. All must occur in one text. */
export type SearchWords = readonly string[];

const maxWords = 10;
/** Characters before the first hit, and in all, that an excerpt shows. */
const beforeHit = 80;
const excerptLength = 240;

/**
 * A request taken apart: blanks part words, quotes hold a phrase together (the last may stay open). At most 10; what has no visible
 * character counts for nothing.
 */
export function parseWords(request: string): SearchWords {
  const found = [...request.matchAll(/"([^"]*)"?|([^\s"]+)/g)].map(([, phrase, word]) =>
    fold(plain(phrase ?? word ?? '')),
  );
  return [...new Set(found.map((word) => word.trim()).filter((word) => word !== ''))].slice(0, maxWords);
}

/**
 * A text as it is compared and shown: composed (NFC), on one line, without control sequences, direction marks and anything else that
 * cannot be seen, so that none of these can hide a word, or act where it is printed.
 */
export function plain(text: string): string {
  // Composing sorts the marks of a letter, in a time that grows with their square; no language has more than a few.
  const bounded = stripControls(text).replaceAll(/(\p{M}{30})\p{M}+/gu, '$1');
  return bounded.normalize('NFC').replaceAll(/\s+/g, ' ').replaceAll(/\p{C}/gu, '');
}

/** Lower case, as many characters as before, so that a place in it is the same place in the text. */
export function fold(text: string): string {
  const lower = text.toLowerCase();
  const same = lower.length === text.length ? lower : [...text].map(foldOne).join('');
  return same.replaceAll('ς', 'σ');
}

function foldOne(char: string): string {
  const lower = char.toLowerCase();
  return lower.length === char.length ? lower : char;
}

/** Where a text holds all words: the places of those that begin first and end last, each at its first occurrence. */
export interface WordsFound {
  first: number;
  end: number;
}

/** Looks for all words in a text that is `plain`; `undefined` where one is missing. */
export function findWords(text: string, words: SearchWords): WordsFound | undefined {
  const folded = fold(text);
  let first = Number.POSITIVE_INFINITY;
  let end = 0;
  for (const word of words) {
    const at = folded.indexOf(word);
    if (at < 0) return undefined;
    first = Math.min(first, at);
    end = Math.max(end, at + word.length);
  }
  return { first, end };
}

/** The part of a `plain` text around its first hit, on one line, with marks where it was cut. */
export function excerptOf(text: string, { first }: WordsFound): string {
  const from = first <= beforeHit ? 0 : wordStart(text, first - beforeHit, first);
  const part = text.slice(from, from + excerptLength).replaceAll(/\p{Cs}/gu, '');
  return `${from > 0 ? '…' : ''}${part.trim()}${from + excerptLength < text.length ? '…' : ''}`;
}

function wordStart(text: string, from: number, to: number): number {
  const blank = text.indexOf(' ', from);
  return blank < 0 || blank >= to ? from : blank + 1;
}
