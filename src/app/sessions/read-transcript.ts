import { ok, refuse, type Result } from '../../kernel/index.ts';
import { readableEntries, readTranscript, type SessionRow, type TranscriptLine } from '../../sessions/index.ts';
import type { TranscriptPage, TranscriptQuery } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { readFailure, readRetries } from './read-failure.ts';
import { requireHere } from './require-here.ts';

/** The longest text that one entry carries; the rest stays in the journal. */
const maxEntry = 65_536;

/** One page of a generation's journal, as what it tells or as it is; never the whole (decision 2, field case 68). */
export async function readTranscriptPage(
  ctx: AppContext,
  caller: Caller,
  session: SessionRow,
  query: TranscriptQuery,
): Promise<Result<TranscriptPage>> {
  const generation = query.generation ?? session.generation;
  if (generation > session.generation) {
    return refuse(
      'not-found',
      'unknown_generation',
      `Session ${session.work_key} has no generation ${generation}; the newest is ${session.generation}.`,
    );
  }
  const here = requireHere(ctx, session);
  if (!here.ok) return here;
  const page = await readTranscript(ctx.paths.sessions, session.id, generation, {
    ...(query.after === undefined ? {} : { from: query.after }),
    ...(query.tail === undefined ? {} : { tail: query.tail }),
    ...(query.since === undefined ? {} : { sinceMs: Date.parse(query.since) }),
    maxLines: query.limit,
    waitMs: query.waitMs,
    ...(caller.signal ? { signal: caller.signal } : {}),
  });
  const head = {
    sessionId: session.id,
    generation,
    newestGeneration: session.generation,
    sessionEnded: session.ended_at !== null,
  };
  // Not launched yet, or it never was.
  if (!page.ok) {
    const ended = session.ended_at !== null || generation < session.generation;
    const how = await howItEnded(ctx, session, generation, ended);
    return ok({ ...head, entries: [], next: query.after ?? 0, hasMore: false, ended, ...how });
  }
  const { lines, next, has_more: hasMore, is_complete: isComplete } = page.value;
  const entries = lines.flatMap((line) => entriesOf(line, query.raw));
  const ended = isComplete && !hasMore;
  return ok({ ...head, entries, next, hasMore, ended, ...(await howItEnded(ctx, session, generation, ended)) });
}

/** At its end a transcript says why the session failed, and when its work is tried again. */
async function howItEnded(
  ctx: AppContext,
  session: SessionRow,
  generation: number,
  ended: boolean,
): Promise<Pick<TranscriptPage, 'failure' | 'retry'>> {
  if (!ended || generation !== session.generation) return { failure: null, retry: null };
  const retries = session.task_id === null ? [] : await readRetries(ctx, session.task_id);
  const retry = retries.find(({ sessionId }) => sessionId === session.id) ?? null;
  return { failure: await readFailure(ctx, session), retry };
}

function entriesOf({ offset, text, length }: TranscriptLine, raw: boolean): TranscriptPage['entries'] {
  if (text === '' && length > 1)
    return [{ offset, kind: 'notice', text: `(a line of ${length} bytes, too long to show)`, continues: false }];
  const entries = raw ? [{ kind: 'raw' as const, text }] : readableEntries(text);
  return entries.map((entry) => ({
    offset,
    kind: entry.kind,
    text: entry.text.length > maxEntry ? `${entry.text.slice(0, maxEntry)}…` : entry.text,
    continues: 'continues' in entry,
  }));
}
