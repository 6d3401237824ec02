import { ok, type Result } from '../kernel/index.ts';
import { findLastLine, findOffsetSince, findTail, generationFolder, openGeneration } from './host/index.ts';
import type { Generation, JournalReader } from './host/index.ts';

/** One line of a journal: what the agent wrote, as it wrote it. */
export interface TranscriptLine {
  /** Offset of its first byte; `next` of a page is the offset after its last line. */
  offset: number;
  /** Empty for a line that is too long to show; `length` says how long it is. */
  text: string;
  length: number;
}

/** A page of a generation's journal (decision 2). */
export interface TranscriptPage {
  session_id: string;
  generation: number;
  lines: TranscriptLine[];
  /** Where the next page begins. */
  next: number;
  /** Whether more can be read now. */
  has_more: boolean;
  /** Whether the process has ended and nothing more will come. */
  is_complete: boolean;
}

/** Where a page begins and how much it holds. Memory: `maxBytes` and one line more (field case 68). */
export interface TranscriptRange {
  /** Offset of a line's first byte. Default 0. */
  from?: number;
  /** Instead of `from`: so many lines before the end. */
  tail?: number;
  /** Instead of `from`: what came after this moment (epoch ms), and perhaps a little before. */
  sinceMs?: number;
  /** Instead of `from`: the newest line that begins so, looked for in the last 2 MiB; else the first line of these. */
  lastLine?: string;
  /** Default 500. */
  maxLines?: number;
  /** Default 1 MiB; one line at least is given, if it is not longer than this. */
  maxBytes?: number;
  /** How long to wait for a line where there is none yet (ms). Default 0. */
  waitMs?: number;
  /** Ends the wait. */
  signal?: AbortSignal;
}

/** Reads one page of what the agent of a generation wrote; refuses when there is no such generation. */
export async function readTranscript(
  sessionsFolder: string,
  sessionId: string,
  generation: number,
  range: TranscriptRange,
): Promise<Result<TranscriptPage>> {
  const { maxLines = 500, maxBytes = 1024 * 1024 } = range;
  const opened = await openGeneration(generationFolder(sessionsFolder, sessionId, generation));
  if (!opened.ok) return opened;
  const reader = await opened.value.readJournal(await beginOf(opened.value, range), {
    maxLineBytes: maxBytes,
    chunkBytes: Math.min(maxBytes, 65_536),
  });
  try {
    const lines: TranscriptLine[] = [];
    // Asked before the lines are read: what was complete then has been read to its end after.
    let isComplete = opened.value.isJournalComplete();
    let bytes = 0;
    const deadline = performance.now() + (range.waitMs ?? 0);
    while (lines.length < maxLines && bytes < maxBytes) {
      const line = (await reader.next()) ?? (isComplete ? unfinishedLine(reader) : undefined);
      if (line) {
        const length = line.end - line.start;
        bytes += line.kind === 'line' ? length : 0;
        lines.push({ offset: line.start, text: line.kind === 'line' ? line.bytes.toString('utf8') : '', length });
        if (line.end > reader.consumed) break;
        continue;
      }
      if (isComplete || lines.length > 0 || !(await untilChanged(opened.value, deadline, range.signal))) break;
      isComplete = opened.value.isJournalComplete();
    }
    const last = lines.at(-1);
    const next = last ? last.offset + last.length : reader.consumed;
    const hasMore = next < opened.value.journalSize();
    return ok({
      session_id: sessionId,
      generation,
      lines,
      next,
      has_more: hasMore,
      is_complete: isComplete,
    });
  } finally {
    await reader.close();
    await opened.value.close();
  }
}

/** How far back the newest line of a kind is looked for. */
const lastLineWithinBytes = 2 * 1024 * 1024;

async function beginOf({ files }: Generation, { from, tail, sinceMs, lastLine }: TranscriptRange): Promise<number> {
  if (from !== undefined) return from;
  if (lastLine !== undefined) return findLastLine(files.journal, lastLine, lastLineWithinBytes);
  if (sinceMs !== undefined) return findOffsetSince(files.marks, sinceMs);
  return tail === undefined ? 0 : findTail(files.journal, tail);
}

/** The last line of a journal that has ended, where its newline is missing. */
function unfinishedLine(reader: JournalReader): Awaited<ReturnType<JournalReader['next']>> {
  const bytes = reader.rest();
  const start = reader.consumed;
  return bytes.length === 0 ? undefined : { kind: 'line', bytes, start, end: start + bytes.length };
}

/** Resolves with whether something may have changed before the time is over. */
function untilChanged(generation: Generation, deadline: number, signal: AbortSignal | undefined): Promise<boolean> {
  const left = deadline - performance.now();
  if (left <= 0 || signal?.aborted) return Promise.resolve(false);
  const size = generation.journalSize();
  return new Promise((resolve) => {
    const finish = (changed: boolean): void => {
      clearTimeout(timer);
      unwatch();
      signal?.removeEventListener('abort', giveUp);
      resolve(changed);
    };
    const giveUp = (): void => finish(false);
    const timer = setTimeout(giveUp, left);
    const unwatch = generation.watch(() => {
      if (generation.journalSize() !== size || generation.isJournalComplete()) finish(true);
    });
    signal?.addEventListener('abort', giveUp, { once: true });
  });
}
