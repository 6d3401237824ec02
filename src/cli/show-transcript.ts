import type { TranscriptPage } from '../wire/index.ts';
import { visible } from './show.ts';

type Entry = TranscriptPage['entries'][number];

/** What stands before a line, by the kind of its entry. */
const marks: Readonly<Record<Entry['kind'], string>> = {
  agent: '',
  thought: '~ ',
  user: '> ',
  tool: '* ',
  result: '| ',
  plan: '',
  question: '? ',
  permission: '? ',
  turn: '-- turn ended: ',
  notice: '-- ',
  output: '',
  raw: '',
};

/** Writes entries as text, harmless for a terminal; pieces of one text are put together again. */
export class TranscriptText {
  #open: Entry['kind'] | undefined;

  /** The text of the next entries. */
  add(entries: readonly Entry[]): string {
    return entries.map((entry) => this.#addOne(entry)).join('');
  }

  /** Ends the last line, where it is open. */
  end(): string {
    const isOpen = this.#open !== undefined;
    this.#open = undefined;
    return isOpen ? '\n' : '';
  }

  #addOne({ kind, text, continues }: Entry): string {
    const goesOn = continues && this.#open === kind;
    const before = goesOn ? '' : this.end() + marks[kind];
    const shown = before + visible(text).replaceAll('\n', `\n${marks[kind].startsWith('--') ? '   ' : marks[kind]}`);
    if (continues) {
      this.#open = kind;
      return shown;
    }
    return `${shown}\n`;
  }
}
