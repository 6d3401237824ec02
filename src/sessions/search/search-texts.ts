import type { Db } from '../session-store.ts';
import { excerptOf, findWords, plain, type SearchWords } from './search-words.ts';
import type { SearchPace } from './pace.ts';

/** The kinds of text that stand in the store, in the order of their places in `TextPlaces`. */
const sources = [readQuestions, readPrompts, readMessages, readReports] as const;

/** How far each source was looked through: the number before which it goes on; null from its newest. */
export type TextPlaces = readonly (number | null)[];

/** Which texts are looked at. */
export interface TextScope {
  /** Only of these sessions. Default: all. */
  sessionIds?: readonly string[] | undefined;
  /** Only from this moment on (epoch ms). */
  sinceMs?: number | undefined;
}

/** A text of the store that holds all words. */
export interface TextHit {
  kind: 'question' | 'answer' | 'prompt' | 'message' | 'report';
  sessionId: string;
  generation: number | null;
  at: number;
  excerpt: string;
}

interface StoredText extends Omit<TextHit, 'excerpt'> {
  ord: number;
  text: string;
  /** The answer to `text`, where there is one. */
  answer?: { text: string; at: number };
}

/** Rows of one source that are held at once. */
const batchRows = 50;

/**
 * Looks through questions with their answers, prompts told, messages and reports of all sessions, the newest first, until `limit` hits or
 * the pace is over. Gives where to go on; null when everything was looked at. Memory: 50 rows of each.
 */
export async function searchTexts(
  db: Db,
  words: SearchWords,
  scope: TextScope,
  bounds: { places: TextPlaces; limit: number; pace: SearchPace },
): Promise<{ hits: TextHit[]; places: TextPlaces | null }> {
  const queues = sources.map(
    (read, at) => new TextQueue((before) => read(db, scope, before), bounds.places[at] ?? null),
  );
  const hits: TextHit[] = [];
  while (hits.length < bounds.limit && !bounds.pace.isOver()) {
    const text = await takeNewest(queues);
    if (!text) return { hits, places: null };
    const hit = matchText(text, words);
    if (hit) hits.push(hit);
    bounds.pace.spend(Buffer.byteLength(text.text));
    await bounds.pace.breathe();
  }
  return { hits, places: queues.map((queue) => queue.place) };
}

/** The rows of one source, newest first. */
class TextQueue {
  readonly #read: (before: number) => Promise<StoredText[]>;
  #rows: StoredText[] = [];
  #isAtEnd = false;
  place: number | null;

  constructor(read: (before: number) => Promise<StoredText[]>, place: number | null) {
    this.#read = read;
    this.place = place;
  }

  async head(): Promise<StoredText | undefined> {
    if (this.#rows.length === 0 && !this.#isAtEnd) {
      this.#rows = await this.#read(this.place ?? Number.MAX_SAFE_INTEGER);
      this.#isAtEnd = this.#rows.length < batchRows;
    }
    return this.#rows[0];
  }

  take(): void {
    this.place = this.#rows.shift()?.ord ?? this.place;
  }
}

async function takeNewest(queues: readonly TextQueue[]): Promise<StoredText | undefined> {
  let newest: { queue: TextQueue; text: StoredText } | undefined;
  for (const queue of queues) {
    const text = await queue.head();
    if (text && (!newest || text.at > newest.text.at)) newest = { queue, text };
  }
  newest?.queue.take();
  return newest?.text;
}

/** A question and its answer are one text: words may stand in both. */
function matchText(stored: StoredText, words: SearchWords): TextHit | undefined {
  const { kind, sessionId, generation, at, answer } = stored;
  const asked = plain(stored.text);
  const text = answer ? `${asked} — ${plain(answer.text)}` : asked;
  const found = findWords(text, words);
  if (!found) return undefined;
  const isAnswer = answer !== undefined && found.first > asked.length;
  return {
    kind: isAnswer ? 'answer' : kind,
    sessionId,
    generation,
    at: isAnswer ? answer.at : at,
    excerpt: excerptOf(text, found),
  };
}

async function readQuestions(db: Db, { sessionIds, sinceMs }: TextScope, before: number): Promise<StoredText[]> {
  const rows = await db
    .selectFrom('escalation')
    .select(['ord', 'session_id', 'generation', 'text', 'answer', 'answered_at', 'created_at'])
    .where('ord', '<', before)
    .$if(sessionIds !== undefined, (query) => query.where('session_id', 'in', sessionIds ?? []))
    .$if(sinceMs !== undefined, (query) =>
      query.where((eb) => eb.or([eb('created_at', '>=', sinceMs ?? 0), eb('answered_at', '>=', sinceMs ?? 0)])),
    )
    .orderBy('ord', 'desc')
    .limit(batchRows)
    .execute();
  return rows.map((row) => ({
    kind: 'question',
    ord: row.ord,
    sessionId: row.session_id,
    generation: row.generation,
    at: row.created_at,
    text: row.text,
    ...(row.answer === null ? {} : { answer: { text: row.answer, at: row.answered_at ?? row.created_at } }),
  }));
}

/** Without those that only carry an answer or a message: these are found as what they are. */
async function readPrompts(db: Db, { sessionIds, sinceMs }: TextScope, before: number): Promise<StoredText[]> {
  const rows = await db
    .selectFrom('prompt')
    .select(['ord', 'session_id', 'generation', 'text', 'created_at'])
    .where('ord', '<', before)
    .where('kind', 'not in', ['answer', 'message'])
    .$if(sessionIds !== undefined, (query) => query.where('session_id', 'in', sessionIds ?? []))
    .$if(sinceMs !== undefined, (query) => query.where('created_at', '>=', sinceMs ?? 0))
    .orderBy('ord', 'desc')
    .limit(batchRows)
    .execute();
  return rows.map((row) => ({ ...storedText('prompt', row), text: row.text }));
}

/** Messages to a session, whoever wrote them; what the broker says to sessions beside them carries no text. */
async function readMessages(db: Db, { sessionIds, sinceMs }: TextScope, before: number): Promise<StoredText[]> {
  const rows = await db
    .selectFrom('message')
    .select(['ord', 'to_session_id as session_id', 'to_generation as generation', 'payload', 'created_at'])
    .where('ord', '<', before)
    .where('type', '=', 'TEXT')
    .$if(sessionIds !== undefined, (query) => query.where('to_session_id', 'in', sessionIds ?? []))
    .$if(sinceMs !== undefined, (query) => query.where('created_at', '>=', sinceMs ?? 0))
    .orderBy('ord', 'desc')
    .limit(batchRows)
    .execute();
  return rows.map((row) => ({ ...storedText('message', row), text: textOfPayload(row.payload) }));
}

async function readReports(db: Db, { sessionIds, sinceMs }: TextScope, before: number): Promise<StoredText[]> {
  const rows = await db
    .selectFrom('session_report')
    .select(['ord', 'session_id', 'generation', 'text', 'created_at'])
    .where('ord', '<', before)
    .$if(sessionIds !== undefined, (query) => query.where('session_id', 'in', sessionIds ?? []))
    .$if(sinceMs !== undefined, (query) => query.where('created_at', '>=', sinceMs ?? 0))
    .orderBy('ord', 'desc')
    .limit(batchRows)
    .execute();
  return rows.map((row) => ({ ...storedText('report', row), text: row.text }));
}

function storedText(
  kind: TextHit['kind'],
  row: { ord: number; session_id: string; generation: number | null; created_at: number },
): Omit<StoredText, 'text'> {
  return { kind, ord: row.ord, sessionId: row.session_id, generation: row.generation, at: row.created_at };
}

function textOfPayload(payload: string): string {
  const { text } = JSON.parse(payload) as { text?: unknown };
  return typeof text === 'string' ? text : '';
}
