import { ok, type Result } from '../kernel/index.ts';
import { generationFolder, openGeneration } from './host/index.ts';

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

/** Bounds of a page. */
export interface TranscriptRange {
  /** Offset of a line's first byte. Default 0. */
  from?: number;
  /** Default 500. */
  maxLines?: number;
  /** Default 1 MiB; one line at least is given, if it is not longer than this. */
  maxBytes?: number;
}

/** Reads one page of what the agent of a generation wrote; refuses when there is no such generation. */
export async function readTranscript(
  sessionsFolder: string,
  sessionId: string,
  generation: number,
  { from = 0, maxLines = 500, maxBytes = 1024 * 1024 }: TranscriptRange,
): Promise<Result<TranscriptPage>> {
  const opened = await openGeneration(generationFolder(sessionsFolder, sessionId, generation));
  if (!opened.ok) return opened;
  const reader = await opened.value.readJournal(from, {
    maxLineBytes: maxBytes,
    chunkBytes: Math.min(maxBytes, 65_536),
  });
  try {
    const lines: TranscriptLine[] = [];
    let bytes = 0;
    while (lines.length < maxLines && bytes < maxBytes) {
      const line = await reader.next();
      if (!line) break;
      const length = line.end - line.start;
      bytes += line.kind === 'line' ? length : 0;
      lines.push({ offset: line.start, text: line.kind === 'line' ? line.bytes.toString('utf8') : '', length });
    }
    const next = reader.consumed;
    return ok({
      session_id: sessionId,
      generation,
      lines,
      next,
      has_more: next < opened.value.journalSize(),
      is_complete: opened.value.isJournalComplete(),
    });
  } finally {
    await reader.close();
    await opened.value.close();
  }
}

/** The newest `maxBytes` (default 64 KiB) of what the agent wrote to stderr; not part of any protocol. */
export async function readStderr(
  sessionsFolder: string,
  sessionId: string,
  generation: number,
  maxBytes?: number,
): Promise<Result<{ text: string }>> {
  const opened = await openGeneration(generationFolder(sessionsFolder, sessionId, generation));
  if (!opened.ok) return opened;
  try {
    return ok({ text: await opened.value.stderrTail(maxBytes) });
  } finally {
    await opened.value.close();
  }
}
