import { z } from 'zod';

/**
 * The interface of claude-peers, as its clients speak it (sessions decision 10). Strict in what is needed, deaf to the rest;
 * texts are bounded by the use cases.
 */
const id = z.string().max(128);
const path = z.string().max(4096);

export const outsideRegistration = z.object({
  pid: z
    .int()
    .positive()
    .max(2 ** 31),
  cwd: path,
  git_root: path.nullish().transform((root) => root ?? null),
  tty: z
    .string()
    .max(128)
    .nullish()
    .transform((tty) => tty ?? null),
  summary: z.string().max(20_000).default(''),
});
export type OutsideRegistration = z.infer<typeof outsideRegistration>;

export const peerId = z.object({ id });
export const peerSummary = z.object({ id, summary: z.string().max(20_000) });
/** Another scope than these two means the whole machine. */
export const peersQuery = z.object({
  scope: z.string().max(32).default('machine'),
  cwd: path.default(''),
  git_root: path.nullish(),
  exclude_id: id.nullish(),
});
export type PeersQuery = z.infer<typeof peersQuery>;
export const outsideSending = z.object({ from_id: z.string(), to_id: id, text: z.string() });
export const outsideAck = z.object({ ids: z.array(z.int()).max(500), id: id.optional() });

export interface OutsidePeerView {
  id: string;
  pid: number;
  cwd: string;
  git_root: string | null;
  tty: string | null;
  summary: string;
  registered_at: string;
  last_seen: string;
}

export interface OutsideMessageView {
  id: number;
  from_id: string;
  to_id: string;
  text: string;
  sent_at: string;
  /** As their table has it when it is read: 0. */
  delivered: 0;
}
