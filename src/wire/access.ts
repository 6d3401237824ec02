import { z } from 'zod';

import { anyId, timestamp } from './fields.ts';

/** 8 to 1 024 characters; how good it is stays the operator's choice. */
export const passphrase = z.string().min(8, 'must have at least 8 characters').max(1024);

export const proofRequest = z.object({ passphrase: z.string().max(1024), operator: z.string().max(64).optional() });
export const proofView = z.object({ proof: z.string(), expiresAt: timestamp });
export type ProofView = z.infer<typeof proofView>;

export const logInRequest = z.object({
  name: z.string().max(64).default('operator'),
  passphrase: z.string().max(1024),
});
/** The cookie comes beside it and only reads; `proof` stays in the tab's memory and goes into the header `Chantier-Proof`. */
export const logInView = z.object({
  user: z.object({ id: anyId, name: z.string(), role: z.enum(['operator', 'viewer']) }),
  proof: z.string().nullable(),
  expiresAt: timestamp,
});
export type LogInView = z.infer<typeof logInView>;

/** First run: the one-use link's secret, and the passphrase to set. */
export const firstRunRequest = z.object({
  /** Of the one-use link; not asked for at the terminal. */
  secret: z.string().max(128).optional(),
  name: z.string().min(1).max(64).default('operator'),
  passphrase,
});

/** The one-use link of the first run; `secret` goes behind the `#` of the console's address. */
export const firstRunLink = z.object({ secret: z.string(), expiresAt: timestamp });
export type FirstRunLink = z.infer<typeof firstRunLink>;

export const unlockView = z.object({ token: z.string(), expiresAt: timestamp, idleMs: z.int() });
export type UnlockView = z.infer<typeof unlockView>;

export const newUser = z.object({ name: z.string().min(1).max(64), role: z.enum(['operator', 'viewer']), passphrase });
export const userView = z.object({
  id: anyId,
  name: z.string(),
  role: z.enum(['operator', 'viewer']),
  createdAt: timestamp,
});
export type UserView = z.infer<typeof userView>;

export const whoamiView = z.object({
  principal: z.string(),
  id: z.string(),
  /** `none`, `standing` (console or unlock) or `fresh`. */
  proof: z.enum(['none', 'standing', 'fresh']),
  /** Whether an operator exists; without one nothing starts. */
  hasOperator: z.boolean(),
  sandboxHolds: z.boolean(),
});
export type WhoamiView = z.infer<typeof whoamiView>;
