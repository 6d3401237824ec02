import { ok, refuse, type Result } from '../../kernel/index.ts';
import {
  findOffsetSince,
  findTail,
  type Generation,
  generationFolder,
  openGeneration,
  readMarks,
} from '../host/index.ts';
import type { ReadableEntry } from '../readable/frame.ts';
import { readableEntries } from '../readable/readable-line.ts';
import { type JournalWindow, readWindow, windowBytes, type WindowEnd } from './journal-windows.ts';
import { isLong, readApart } from './read-apart.ts';
import type { SearchPace } from './pace.ts';
import type { SearchWords } from './search-words.ts';
import { TextUnits, type UnitHit } from './text-units.ts';

/** A text of a transcript that holds all words. */
export interface JournalHit extends UnitHit {
  /** Epoch ms by which it was there; null when that was not noted. */
  at: number | null;
}

/** What one look through a journal gave. */
export interface JournalSearch {
  /** Newest first. */
  hits: JournalHit[];
  /** Where the next call goes on; null when it was looked through to its beginning. */
  next: WindowEnd | null;
  /** Bytes that could not be looked at: lines longer than 1 MiB, and what was freed (`sessions.journalKeep`). */
  tooLong: number;
  freed: number;
}

/** Where a journal is. */
export interface JournalName {
  sessionsFolder: string;
  sessionId: string;
  generation: number;
}

/** A text that goes on into the window before is left to that one, when it is no longer than this. */
const maxLeft = windowBytes / 4;

/**
 * Looks through one generation's journal from its end (or from where the call before ended) to its beginning, until `limit` hits or the
 * pace is over. Memory: one window of 1 MiB. Refuses `journal_removed` when it is not there (any more).
 */
export async function searchJournal(
  { sessionsFolder, sessionId, generation }: JournalName,
  words: SearchWords,
  bounds: { before: WindowEnd | null; sinceMs?: number | undefined; limit: number; pace: SearchPace },
): Promise<Result<JournalSearch>> {
  try {
    const opened = await openGeneration(generationFolder(sessionsFolder, sessionId, generation));
    if (opened.ok) return ok(await lookThrough(opened.value, words, bounds));
  } catch (error) {
    // The retention removed it meanwhile.
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
  }
  const message = `The transcript of ${sessionId}, generation ${generation}, is not there (any more).`;
  return refuse('not-found', 'journal_removed', message, { session: sessionId, generation });
}

async function lookThrough(
  opened: Generation,
  words: SearchWords,
  { before, sinceMs, limit, pace }: Parameters<typeof searchJournal>[2],
): Promise<JournalSearch> {
  const { journal, marks } = opened.files;
  const low = sinceMs === undefined ? 0 : await findOffsetSince(marks, sinceMs);
  let at = before ? { ...before, end: Math.min(before.end, opened.journalSize()) } : await endOf(opened);
  const found: UnitHit[] = [];
  const passed = { tooLong: 0, freed: 0 };
  const buffer = Buffer.allocUnsafe(windowBytes);
  while (at.end > low && found.length < limit && !pace.isOver()) {
    const window = await readWindow(journal, low, at, () => opened.freed(), buffer);
    const { hits, from } = await matchWindow(window, low, words, pace);
    passed.tooLong += window.tooLong;
    passed.freed += window.freed;
    pace.spend(at.end - from);
    at = { end: from, isInLine: window.isInLine };
    for (const hit of hits.toReversed()) {
      if (found.length >= limit) break;
      found.push(hit);
      if (found.length >= limit) at = { end: hit.start, isInLine: false };
    }
  }
  const moments = found.length === 0 ? [] : await readMarks(marks);
  const hits = found.map((hit) => ({ ...hit, at: moments.find((mark) => mark.offset > hit.start)?.at ?? null }));
  return { hits, next: at.end > low ? at : null, ...passed };
}

/** The last line of a living journal may still be being written; it is left to a later search. */
async function endOf(opened: Generation): Promise<WindowEnd> {
  if (opened.isJournalComplete()) return { end: opened.journalSize(), isInLine: false };
  return { end: await findTail(opened.files.journal, 0), isInLine: true };
}

/** `from`: everything after it was matched. A text that begins before the window is left to the one before, with `from` behind it. */
async function matchWindow(
  window: JournalWindow,
  low: number,
  words: SearchWords,
  pace: SearchPace,
): Promise<{ hits: UnitHit[]; from: number }> {
  const units = new TextUnits(words);
  const add = async (line: ReadLine): Promise<void> => {
    for (const entry of line.entries) await units.add(entry, line.start, () => pace.breathe());
  };
  let from = window.from;
  // The lines of the text with which the window begins, as long as it is not clear whose they are.
  let leading: ReadLine[] | undefined = window.from > low ? [] : undefined;
  for (const { start, end, bytes } of window.lines) {
    await pace.breathe();
    const entries = isLong(bytes) ? await readApart(bytes) : readableEntries(bytes.toString('utf8'));
    const line = { start, entries };
    const goesOn: boolean = leading !== undefined && doesGoOn(leading, line);
    if (goesOn) leading?.push(line);
    if (leading && goesOn && end - window.from <= maxLeft) continue;
    if (leading && goesOn) for (const held of leading) await add(held);
    else if (leading?.some(({ entries }) => entries.length > 0)) from = start;
    if (!goesOn) await add(line);
    leading = undefined;
  }
  for (const held of leading ?? []) await add(held);
  return { hits: units.finish(), from };
}

interface ReadLine {
  start: number;
  entries: ReadableEntry[];
}

/** Whether a line is nothing but more of the text that `leading` is. Lines without text break none. */
function doesGoOn(leading: readonly ReadLine[], line: ReadLine): boolean {
  const kind = leading.find(({ entries }) => entries.length > 0)?.entries[0]?.kind ?? line.entries[0]?.kind;
  return line.entries.every((entry) => entry.continues && entry.kind === kind);
}
