import { ok, refuse, type Result } from '../../kernel/index.ts';
import { findTask } from '../../ledger/index.ts';
import {
  parseWords,
  SearchPace,
  searchJournal,
  searchTexts,
  type SearchWords,
  type SessionRow,
} from '../../sessions/index.ts';
import type { SearchGap, SearchPage, SearchQuery } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { rowOf } from './find-row.ts';
import { journalGaps, journalHit, otherNode, removed, textHit } from './search-views.ts';
import { readCursor, type SearchPlace, writeCursor } from './search-cursor.ts';

/** Gaps that one page names; a call that met so many ends there. */
const maxGaps = 50;
/** Sessions whose rows are read at once. */
const batchSessions = 50;

/** What a page has so far. */
interface Found {
  hits: SearchPage['hits'];
  gaps: SearchGap[];
}

interface Search {
  words: SearchWords;
  limit: number;
  sinceMs: number | undefined;
  /** Ids of the sessions that are looked at; undefined: all. */
  sessionIds: string[] | undefined;
  pace: SearchPace;
}

/**
 * `search`: looks through the texts of the store, then through the transcripts that are kept, until `limit` hits or until the call has had its
 * share (64 MiB, 2 s); the cursor goes on from there. Reads only. Refuses `search_empty`, `search_cursor`, and `search_busy` when two run
 * already.
 */
export function createSearch(ctx: AppContext): (caller: Caller, query: SearchQuery) => Promise<Result<SearchPage>> {
  let running = 0;
  return async (caller, query) => {
    if (running >= 2)
      return refuse('held', 'search_busy', 'Two searches are running already; try again when one has ended.');
    running += 1;
    try {
      return await searchPage(ctx, caller, query);
    } finally {
      running -= 1;
    }
  };
}

async function searchPage(ctx: AppContext, caller: Caller, query: SearchQuery): Promise<Result<SearchPage>> {
  const words = parseWords(query.q);
  if (words.length === 0)
    return refuse('invalid', 'search_empty', 'There is no word to look for; give at least one visible character.');
  const place = query.cursor === undefined ? { texts: [] } : readCursor(query.cursor);
  if (!place) return refuse('invalid', 'search_cursor', 'This cursor is none of a search; begin again without one.');
  const sessionIds = await scopeOf(ctx, query);
  if (!sessionIds.ok) return sessionIds;
  const pace = new SearchPace({ signal: caller.signal });
  const sinceMs = query.since === undefined ? undefined : Date.parse(query.since);
  const search = { words, limit: query.limit, sinceMs, sessionIds: sessionIds.value, pace };
  const found: Found = { hits: [], gaps: [] };
  const next = await goOn(ctx, search, place, found);
  return ok({
    ...found,
    searchedBytes: pace.bytes,
    cursor: next && writeCursor(next),
    ended: next === null ? 'all' : found.hits.length >= query.limit ? 'limit' : 'share',
  });
}

/** The sessions of `session` and `task`; undefined for all. */
async function scopeOf(ctx: AppContext, query: SearchQuery): Promise<Result<string[] | undefined>> {
  const db = ctx.store.read;
  let ids: string[] | undefined;
  if (query.task !== undefined) {
    const task = await findTask(db, query.task);
    if (!task.ok) return task;
    const pulls = db.selectFrom('pull_request').select('id').where('task_id', '=', task.value.id);
    const rows = await db
      .selectFrom('session')
      .select('id')
      .where((eb) => eb.or([eb('task_id', '=', task.value.id), eb('pull_request_id', 'in', pulls)]))
      .orderBy('created_at', 'desc')
      .limit(500)
      .execute();
    ids = rows.map((row) => row.id);
  }
  if (query.session === undefined) return ok(ids);
  const row = await rowOf(db, query.session);
  if (!row.ok) return row;
  return ok(ids === undefined || ids.includes(row.value.id) ? [row.value.id] : []);
}

/** Gives where the next page begins; null when everything was looked at. */
async function goOn(ctx: AppContext, search: Search, place: SearchPlace, found: Found): Promise<SearchPlace | null> {
  if (search.sessionIds?.length === 0) return null;
  if (!('texts' in place)) return searchJournals(ctx, search, place, found);
  const { words, limit, pace, sessionIds, sinceMs } = search;
  const scope = { sessionIds, sinceMs };
  const { hits, places } = await searchTexts(ctx.store.read, words, scope, { places: place.texts, limit, pace });
  const sessions = await rowsOf(ctx, [...new Set(hits.map((hit) => hit.sessionId))]);
  for (const hit of hits) {
    const session = sessions.get(hit.sessionId);
    if (session) found.hits.push(textHit(ctx, session, hit));
  }
  return places === null ? searchJournals(ctx, search, { session: null }, found) : { texts: [...places] };
}

async function searchJournals(
  ctx: AppContext,
  search: Search,
  place: Exclude<SearchPlace, { texts: unknown }>,
  found: Found,
): Promise<SearchPlace | null> {
  let at = place;
  for (;;) {
    const sessions = await nextSessions(ctx, search, at);
    for (const session of sessions) {
      const isGoingOn = at.session?.id === session.id;
      const next = await searchSession(ctx, search, session, isGoingOn ? at : {}, found);
      if (next) return { session: { id: session.id, createdAt: session.created_at }, ...next };
      at = { session: { id: session.id, createdAt: session.created_at }, generation: 0 };
    }
    if (sessions.length < batchSessions) return null;
  }
}

/** Sessions with a transcript, the newest first, from the one on in which the call before ended. */
async function nextSessions(
  ctx: AppContext,
  { sessionIds, sinceMs }: Search,
  { session, generation }: Exclude<SearchPlace, { texts: unknown }>,
): Promise<SessionRow[]> {
  return ctx.store.read
    .selectFrom('session')
    .selectAll()
    .where('generation', '>', 0)
    .$if(sessionIds !== undefined, (query) => query.where('id', 'in', sessionIds ?? []))
    .$if(sinceMs !== undefined, (query) =>
      query.where((eb) => eb.or([eb('ended_at', 'is', null), eb('ended_at', '>=', sinceMs ?? 0)])),
    )
    .$if(session !== null, (query) =>
      query.where((eb) =>
        eb.or([
          eb('created_at', '<', session?.createdAt ?? 0),
          eb.and([
            eb('created_at', '=', session?.createdAt ?? 0),
            eb('id', generation === 0 ? '<' : '<=', session?.id ?? ''),
          ]),
        ]),
      ),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(batchSessions)
    .execute();
}

/** Looks through a session's generations, the newest first. Gives where to go on in it; null when it was looked through. */
async function searchSession(
  ctx: AppContext,
  { words, limit, pace, sinceMs }: Search,
  session: SessionRow,
  from: { generation?: number | undefined; before?: { end: number; isInLine: boolean } | null | undefined },
  found: Found,
): Promise<{ generation: number; before: { end: number; isInLine: boolean } | null } | null> {
  const isFull = (): boolean => pace.isOver() || found.hits.length >= limit || found.gaps.length >= maxGaps;
  let before = from.before ?? null;
  const newest = Math.min(from.generation ?? session.generation, session.generation);
  if (session.node_id !== ctx.nodeId) {
    if (isFull()) return { generation: newest, before };
    found.gaps.push(otherNode(session));
    return null;
  }
  for (let generation = newest; generation > 0; generation -= 1) {
    if (isFull()) return { generation, before };
    const bounds = { before, sinceMs, limit: limit - found.hits.length, pace };
    const place = { sessionsFolder: ctx.paths.sessions, sessionId: session.id, generation };
    const result = await searchJournal(place, words, bounds);
    before = null;
    if (!result.ok) {
      // One whose process was never launched has none.
      if (session.wound_up_at !== null && session.state !== 'START_FAILED')
        found.gaps.push(removed(session, generation));
      continue;
    }
    const { hits, next } = result.value;
    found.hits.push(...hits.map((hit) => journalHit(session, generation, hit)));
    found.gaps.push(...journalGaps(session, generation, result.value));
    if (next) return { generation, before: next };
    await pace.breathe();
  }
  return null;
}

async function rowsOf(ctx: AppContext, ids: readonly string[]): Promise<Map<string, SessionRow>> {
  if (ids.length === 0) return new Map();
  const rows = await ctx.store.read.selectFrom('session').selectAll().where('id', 'in', ids).execute();
  return new Map(rows.map((row) => [row.id, row]));
}
