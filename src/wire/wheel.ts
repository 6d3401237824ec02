import { z } from 'zod';

import { anyId, longText, timestamp } from './fields.ts';
import { sessionView } from './sessions.ts';

/** `by` is what the human is called at this terminal; shown, and the author of what is committed there. */
export const takeoverRequest = z.object({
  by: z
    .string()
    .regex(/^[\p{L}\p{N}][\p{L}\p{N} ._@+-]{0,79}$/u, 'must be a name of at most 80 letters, digits and . _ @ + -')
    .optional(),
});
export type TakeoverRequest = z.infer<typeof takeoverRequest>;

export const takeoverView = z.object({
  session: sessionView,
  by: z.string(),
  since: timestamp,
  /** Whether the agent's process is gone; a terminal opens only then. */
  isReady: z.boolean(),
  /** Questions of the agent that were closed for it. */
  closedQuestions: z.int(),
  /** The work folder on the server's machine; null when there is none any more. */
  folder: z.string().nullable(),
});
export type TakeoverView = z.infer<typeof takeoverView>;

export const terminalRequest = z.object({
  /** A shell instead of the agent's own resume. */
  shell: z.boolean().default(false),
  term: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._+-]{0,63}$/)
    .default('dumb'),
});
export type TerminalRequest = z.infer<typeof terminalRequest>;

/** A terminal in the session's sandbox; its command works once, on the server's machine, as the server's user. */
export const terminalView = z.object({
  sessionId: anyId,
  command: z.array(z.string()),
  program: z.enum(['agent', 'shell']),
  /** The agent's own resume as it may be typed in the shell. */
  resume: z.string().nullable(),
  note: z.string().nullable(),
});
export type TerminalView = z.infer<typeof terminalView>;

/** How the command of a terminal learns that who opened it is gone: a descriptor that ends with that process, told by a variable. */
export const terminalHold = { variable: 'CHANTIER_TERMINAL_HELD', fd: 3 } as const;

export const handbackRequest = z.object({
  note: longText.optional(),
  /** Message under which uncommitted files are committed; left out, they are refused by name. */
  commit: longText.optional(),
  /** End a terminal that is still open. */
  end: z.boolean().default(false),
});
export type HandbackRequest = z.infer<typeof handbackRequest>;

export const handedBackView = z.object({
  session: sessionView,
  commits: z.array(z.object({ id: z.string(), author: z.string(), subject: z.string() })),
  message: z.string(),
});
export type HandedBackView = z.infer<typeof handedBackView>;
