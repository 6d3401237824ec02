import { z } from 'zod';

import { anyId } from '../../wire/index.ts';

const offset = z.int().min(0);
const places = z.array(z.int().nullable()).max(8);
const textPlace = z.strictObject({ texts: places });
const journalPlace = z.strictObject({
  /** The session in which it ended; null: before the first. */
  session: z.strictObject({ id: anyId, createdAt: z.int() }).nullable(),
  /** Its generation; 0: that session was looked through. */
  generation: z.int().min(0).optional(),
  before: z.strictObject({ end: offset, isInLine: z.boolean() }).nullable().optional(),
});
const searchPlace = z.union([textPlace, journalPlace]);

/** Where a search goes on: in the texts of the store, else in the transcripts. */
export type SearchPlace = z.infer<typeof searchPlace>;

/** As clients hand it back: opaque. It tells nothing that a reader may not read. */
export function writeCursor(place: SearchPlace): string {
  return Buffer.from(JSON.stringify(place)).toString('base64url');
}

/** `undefined` for what is no cursor of a search. */
export function readCursor(cursor: string): SearchPlace | undefined {
  try {
    return searchPlace.safeParse(JSON.parse(Buffer.from(cursor, 'base64url').toString('utf8'))).data;
  } catch {
    return undefined;
  }
}
