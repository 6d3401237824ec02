import { type Actor, canonicalJson, newId, ok, refuse, type Result } from '../kernel/index.ts';
import type { Kysely } from 'kysely';

import type { Schema, Tx } from '../store/index.ts';
import { releasePorts } from './port-leases.ts';
import type { WorkFolder } from './work-folders/work-folder.ts';

/** A recorded work folder; `workFolderAt` gives its paths. */
export interface RecordedWorkFolder {
  id: string;
  repositoryId: string;
  purpose: WorkFolder['purpose'];
  ownerKey: string;
  branch: string | undefined;
  startCommit: string;
  state: Schema['work_folder']['state'];
  setupKey: string | undefined;
  rescueRefs: string[];
}

/** Records that a folder will be made for `ownerKey`; recorded again it gives the row that is there. Write it before the clone. */
export async function recordWorkFolder(
  tx: Tx,
  request: {
    repositoryId: string;
    ownerKey: string;
    purpose: WorkFolder['purpose'];
    path: string;
    branch?: string;
    startCommit: string;
    actor: Actor;
  },
): Promise<RecordedWorkFolder> {
  const known = await workFolderByOwner(tx.db, request.ownerKey);
  if (known) return known;
  const id = newId<string>();
  await tx.db
    .insertInto('work_folder')
    .values({
      id,
      repository_id: request.repositoryId,
      purpose: request.purpose,
      owner_key: request.ownerKey,
      path: request.path,
      branch: request.branch ?? null,
      start_commit: request.startCommit,
      state: 'creating',
      setup_key: null,
      rescue_refs: '[]',
      created_at: tx.now,
      removed_at: null,
    })
    .execute();
  const facts = { purpose: request.purpose, startCommit: request.startCommit };
  await tx.emit({ kind: 'work-folder.created', actor: request.actor, subject: { kind: 'work-folder', id }, facts });
  const made = await workFolderByOwner(tx.db, request.ownerKey);
  if (!made) throw new Error(`work folder ${id} was not written`);
  return made;
}

const eventOf = {
  created: undefined,
  ready: 'work-folder.ready',
  failed: 'work-folder.failed',
  removed: 'work-folder.removed',
} as const;

/** Moves a folder on: `created` (clone is there), `ready` (set-up done), `failed` (set-up failed), `removed`. Repeated, nothing happens. */
export async function markWorkFolder(
  tx: Tx,
  request: {
    ownerKey: string;
    state: 'created' | 'ready' | 'failed' | 'removed';
    setupKey?: string;
    rescueRefs?: readonly string[];
    actor: Actor;
  },
): Promise<Result<RecordedWorkFolder>> {
  const { ownerKey, state, actor } = request;
  const known = await workFolderByOwner(tx.db, ownerKey);
  if (!known)
    return refuse('not-found', 'work_folder_not_found', `There is no work folder of ${ownerKey}.`, { ownerKey });
  const moved = await tx.db
    .updateTable('work_folder')
    .set({
      state,
      ...(request.setupKey === undefined ? {} : { setup_key: request.setupKey }),
      ...(request.rescueRefs === undefined
        ? {}
        : { rescue_refs: canonicalJson([...new Set([...known.rescueRefs, ...request.rescueRefs])]) }),
      removed_at: state === 'removed' ? tx.now : null,
    })
    .where('owner_key', '=', ownerKey)
    .where('state', '!=', 'removed')
    .where('state', '!=', state)
    .returning('id')
    .executeTakeFirst();
  if (state === 'removed') await releasePorts(tx, ownerKey);
  const kind = eventOf[state];
  if (moved && kind) {
    const facts = { rescueRefs: request.rescueRefs?.length ?? 0 };
    await tx.emit({ kind, actor, subject: { kind: 'work-folder', id: known.id }, facts });
  }
  return ok((await workFolderByOwner(tx.db, ownerKey)) ?? known);
}

/**
 * A removed folder is to be made again at its place, for a conversation that goes on there: on a branch of its own from
 * `startCommit`. Repeated, or for a folder that is there, nothing happens.
 */
export async function renewWorkFolder(
  tx: Tx,
  request: { ownerKey: string; branch: string; startCommit: string; actor: Actor },
): Promise<RecordedWorkFolder> {
  const { ownerKey, branch, startCommit, actor } = request;
  const renewed = await tx.db
    .updateTable('work_folder')
    .set({ branch, start_commit: startCommit, state: 'creating', setup_key: null, removed_at: null })
    .where('owner_key', '=', ownerKey)
    .where('state', '=', 'removed')
    .returning(['id', 'purpose'])
    .executeTakeFirst();
  if (renewed) {
    const facts = { purpose: renewed.purpose, startCommit };
    await tx.emit({ kind: 'work-folder.created', actor, subject: { kind: 'work-folder', id: renewed.id }, facts });
  }
  const row = await workFolderByOwner(tx.db, ownerKey);
  if (!row) throw new Error(`there is no work folder of ${ownerKey}`);
  return row;
}

/** Adds rescue refs to a folder's row (the folder may go on living). */
export async function recordRescue(
  tx: Tx,
  request: { ownerKey: string; refs: readonly string[]; actor: Actor },
): Promise<void> {
  const known = await workFolderByOwner(tx.db, request.ownerKey);
  const added = request.refs.filter((ref) => !known?.rescueRefs.includes(ref));
  if (!known || added.length === 0) return;
  await tx.db
    .updateTable('work_folder')
    .set({ rescue_refs: canonicalJson([...known.rescueRefs, ...added]) })
    .where('owner_key', '=', request.ownerKey)
    .execute();
  await tx.emit({
    kind: 'work-folder.saved',
    actor: request.actor,
    subject: { kind: 'work-folder', id: known.id },
    facts: { refs: added.length },
  });
}

/** The folder of a session or landing. */
export async function workFolderByOwner(db: Kysely<Schema>, ownerKey: string): Promise<RecordedWorkFolder | undefined> {
  const row = await db.selectFrom('work_folder').selectAll().where('owner_key', '=', ownerKey).executeTakeFirst();
  return row && toRecorded(row);
}

/** Every folder of a repository that was not removed, oldest first. */
export async function listWorkFolders(db: Kysely<Schema>, repositoryId: string): Promise<RecordedWorkFolder[]> {
  const rows = await db
    .selectFrom('work_folder')
    .selectAll()
    .where('repository_id', '=', repositoryId)
    .where('state', '!=', 'removed')
    .orderBy('created_at')
    .orderBy('id')
    .execute();
  return rows.map(toRecorded);
}

function toRecorded(row: Schema['work_folder']): RecordedWorkFolder {
  return {
    id: row.id,
    repositoryId: row.repository_id,
    purpose: row.purpose,
    ownerKey: row.owner_key,
    branch: row.branch ?? undefined,
    startCommit: row.start_commit,
    state: row.state,
    setupKey: row.setup_key ?? undefined,
    rescueRefs: JSON.parse(row.rescue_refs) as string[],
  };
}
