import { z } from 'zod';

import { anyId, cursor, timestamp } from './fields.ts';
import { transcriptKinds } from './sessions.ts';

/** What is looked for, and where. All words must occur in one text; "quotes" hold a phrase together. */
export const searchQuery = z.object({
  q: z.string().min(1).max(200),
  /** Work key or id of a session. */
  session: z.string().max(400).optional(),
  /** Id of a task, or `<project>/<task>`: all its sessions, its reviewers' too. */
  task: z.string().max(400).optional(),
  since: timestamp.optional(),
  /** `cursor` of the page before. */
  cursor: cursor.optional(),
  limit: z.coerce.number().int().min(1).max(100).default(20),
});
export type SearchQuery = z.infer<typeof searchQuery>;

export const searchHit = z.object({
  /** Of the store: a question, its answer, a prompt, message or report; else the kind of a transcript's entry. */
  kind: z.enum(['answer', 'prompt', 'message', 'report', ...transcriptKinds]),
  sessionId: anyId,
  workKey: z.string(),
  /** Null for a text that reached no process. */
  generation: z.int().nullable(),
  /** Of a transcript: by when it was there; null when nobody noted that. */
  at: timestamp.nullable(),
  /** On one line, without control characters and what changes the direction of text. */
  excerpt: z.string(),
  /** Of a transcript: the line of the journal in which the text begins, as `after` of the transcript. */
  offset: z.int().nullable(),
  /** Shows it; null where the transcript is not there any more. */
  command: z.string().nullable(),
});
export type SearchHit = z.infer<typeof searchHit>;

/** Something that was not looked at, and why. */
export const searchGap = z.object({
  sessionId: anyId,
  workKey: z.string(),
  generation: z.int(),
  reason: z.enum(['removed', 'freed', 'too-long', 'other-node']),
  /** How much; null where that is not known. */
  bytes: z.int().nullable(),
  message: z.string(),
});
export type SearchGap = z.infer<typeof searchGap>;

/** Texts of the store first, then transcripts, the newest session first; the newest first in each. */
export const searchPage = z.object({
  hits: z.array(searchHit),
  gaps: z.array(searchGap),
  /** Bytes that this call looked through. */
  searchedBytes: z.int(),
  /** Goes on where this page ended: at its limit, or because a call has had its share. Null when all was looked at. */
  cursor: z.string().nullable(),
  /** Why it ended: `limit` of hits, `share` of bytes and time, or all was looked at. */
  ended: z.enum(['limit', 'share', 'all']),
});
export type SearchPage = z.infer<typeof searchPage>;
