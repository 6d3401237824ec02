import { isAbsolute, normalize } from 'node:path';

import { z } from 'zod';

import { refuse, type Refused } from '../../kernel/index.ts';

/** Name of the manifest in a backup. It is written last: a folder without it is no backup. */
export const manifestName = 'manifest.json';
/** The embedded database in a backup and in a home. */
export const databaseName = 'chantier.db';
/** The form of backups that this program writes, and the newest that it reads. */
export const manifestForm = 1;

const mode = z.int().min(0).max(0o777);
const relativePath = z
  .string()
  .max(4096)
  .refine((path) => path !== '' && !isAbsolute(path) && normalize(path) === path && path.split('/')[0] !== '..');

/** What a backup says about itself: everything in it with size and SHA-256 (design section 5). */
export const manifestSchema = z.object({
  form: z.literal(manifestForm),
  /** Version of the program that wrote it. */
  version: z.string(),
  /** Node that wrote it. */
  instance: z.string(),
  createdAt: z.string(),
  /** `postgres`: the database is not in it and comes from `pg_dump`. */
  database: z.enum(['sqlite', 'postgres']),
  /** Head of the chain of events in the copied database. */
  head: z.object({ seq: z.int().min(0), hash: z.string().regex(/^[0-9a-f]{64}$/) }),
  /** Folders, parents first. */
  folders: z.array(z.object({ path: relativePath, mode })),
  files: z.array(
    z.object({ path: relativePath, mode, size: z.int().min(0), sha256: z.string().regex(/^[0-9a-f]{64}$/) }),
  ),
  /** What is not in it, for people. */
  notIncluded: z.array(z.string()),
});

export type BackupManifest = z.infer<typeof manifestSchema>;
export type BackedUpFile = BackupManifest['files'][number];

/** Why a session ended that a backup brought back without its process. */
export const restoredReason = 'restored';

/** What no backup holds; said in the manifest, by the verb and in the guide. */
export const notIncluded = [
  'work folders: what living agents have not committed and reported yet',
  'journals of sessions that have ended',
  'logs, older backups, caches of set-ups, log-ins of agents',
  'your own repositories',
];

/** A refusal about the file of a backup that is not as the manifest says. */
export function damaged(path: string, what: string): Refused {
  return refuse('invalid', 'backup_damaged', `${path} ${what}: this backup is not restored. Use another one.`, {
    path,
  });
}
