import type { EntryKind, ReadableEntry } from '../readable/frame.ts';
import { excerptOf, findWords, plain, type SearchWords } from './search-words.ts';

/** Longest text that words are looked for in together; what is longer is looked at in parts that overlap. */
const maxUnit = 16_384;
const overlap = 1_024;

/** A text of a transcript that holds all words. */
export interface UnitHit {
  kind: EntryKind;
  /** Offset of the line in which the text, or the part of it, begins. */
  start: number;
  excerpt: string;
}

/** Puts the pieces of one text together again, as `logs` does, and says which texts hold all words. */
export class TextUnits {
  readonly #words: SearchWords;
  readonly #hits: UnitHit[] = [];
  #kind: EntryKind | undefined;
  #text = '';
  #start = 0;

  constructor(words: SearchWords) {
    this.#words = words;
  }

  /** Takes one entry of the line at `offset`; calls `breathe` after each small part of it. */
  async add(entry: ReadableEntry, offset: number, breathe: () => Promise<void>): Promise<void> {
    if (!(entry.continues && this.#kind === entry.kind)) this.#begin(entry.kind, offset);
    for (let at = 0; at < entry.text.length; at += maxUnit) {
      this.#append(entry.text.slice(at, at + maxUnit), offset);
      await breathe();
    }
    if (!entry.continues) this.#end();
  }

  /** Ends what is open. Gives what was found, oldest first, one for each line in which texts begin. */
  finish(): UnitHit[] {
    this.#end();
    return this.#hits.filter((hit, at) => hit.start !== this.#hits[at - 1]?.start);
  }

  #begin(kind: EntryKind, offset: number): void {
    this.#end();
    this.#kind = kind;
    this.#start = offset;
  }

  #append(text: string, offset: number): void {
    if (this.#text.length + text.length > maxUnit && this.#text !== '') {
      this.#match();
      this.#text = this.#text.slice(-overlap);
      this.#start = offset;
    }
    this.#text += text;
  }

  #end(): void {
    if (this.#text !== '') this.#match();
    this.#text = '';
    this.#kind = undefined;
  }

  #match(): void {
    const text = plain(this.#text);
    const found = findWords(text, this.#words);
    if (found && this.#kind) this.#hits.push({ kind: this.#kind, start: this.#start, excerpt: excerptOf(text, found) });
  }
}
