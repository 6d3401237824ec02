import { z } from 'zod';

import { json } from './fields.ts';

/** RFC 9457 body of every error answer; `code` is stable, `detail` is for people. */
export const problem = z.object({
  type: z.string(),
  title: z.string(),
  status: z.int(),
  code: z.string(),
  detail: z.string(),
  /** What the refusal is about; gives the exit code of the CLI (`fault` and `bug`: 1). */
  kind: z.string(),
  facts: z.record(z.string(), json).optional(),
  /** What is wrong where, for `invalid`. */
  errors: z.array(z.object({ path: z.string(), message: z.string() })).optional(),
});
export type Problem = z.infer<typeof problem>;
