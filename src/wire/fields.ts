import { z } from 'zod';

import type { Json } from '../kernel/index.ts';

/** Epoch moments on the wire: RFC 3339 with the suffix `Z` only; `+00:00` is refused (S-58). */
export const timestamp = z.iso.datetime();

/** An id as the store makes it: no invisible characters, at most 128 (S-75). */
export const anyId = z.string().regex(/^[^\p{C}]{1,128}$/u, 'must be 1 to 128 visible characters');

/** Codename of a project, job or agent (L-33a). */
export const codename = z
  .string()
  .regex(/^[a-z0-9][a-z0-9-]{2,62}[a-z0-9]$/, 'must be 4 to 64 lower-case letters, digits or dashes');

/** Free text of at most `max` characters; what it may hold is judged by the use case (S-75). */
export const text = (max: number, min = 1) =>
  z.string().refine((value) => [...value].length >= min && [...value].length <= max, {
    message: `must have ${min} to ${max} characters`,
  });

/** Texts of people and agents: answers and questions 4 000, reasons and summaries 500 characters. */
export const longText = text(4000);
export const shortText = text(500);
export const title = text(200);
/** Texts that describe work: requests, task descriptions, briefs. */
export const workText = text(20_000);

export const priority = z.enum(['P0', 'P1', 'P2', 'P3']);

/** Any JSON value; what was parsed from JSON is one. */
export const json = z.unknown() as unknown as z.ZodType<Json>;

/** What pages a list: opaque, given back as `nextCursor`. */
export const cursor = z.string().min(1).max(400);

/** Query of a paged list; `limit` 1 to 500, default 100. */
export const pageQuery = z.object({
  cursor: cursor.optional(),
  limit: z.coerce.number().int().min(1).max(500).default(100),
});
export type PageQuery = z.infer<typeof pageQuery>;

/** One page of `item`s; `nextCursor` is null at the end. */
export const pageOf = <T extends z.ZodType>(item: T) =>
  z.object({ items: z.array(item), nextCursor: z.string().nullable() });
export interface Page<T> {
  items: T[];
  nextCursor: string | null;
}

/** A flag in a query string. */
export const queryFlag = z
  .enum(['true', 'false', '1', '0'])
  .transform((value) => value === 'true' || value === '1')
  .optional();
