import { ok, type Result, systemActor } from '../../kernel/index.ts';
import {
  baseTip,
  branchName,
  createWorkFolder,
  type GitIdentity,
  markWorkFolder,
  prepareWorkFolder,
  type Repository,
  recordWorkFolder,
  resolveRef,
  takeBranchNumber,
  type WorkFolder,
  workFolderAt,
  workFolderByOwner,
} from '../../forge/index.ts';
import type { Session } from '../../sessions/index.ts';
import type { Schema } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { closeNetwork, openNetwork } from '../launch/agent-network.ts';
import { syncBase } from '../repositories/sync-base.ts';
import { insideOf } from './inside.ts';

const actor = systemActor('work-folders');

/** Name of an author's folder: one for each attempt at a task, shared by the sessions that go on with it. */
export function authorFolderKey(task: Pick<Schema['task'], 'id' | 'attempts'>): string {
  return `task-${task.id}-a${task.attempts}`;
}

/** Ref that holds the operator's uncommitted work of a task that was started with `--with-changes`. */
export function changesKey(taskId: string): string {
  return `task-${taskId}`;
}

/** Who commits in an author's folder. */
export function authorIdentity(agent: string): GitIdentity {
  return { name: agent, email: `${agent}@agents.chantier.invalid` };
}

/**
 * Makes or finds the clone in which an author works, and runs its set-up. Safe to repeat: each step is keyed by the task and
 * its attempt. Refuses what `syncBase` and `prepareWorkFolder` refuse; the folder is then marked as failed.
 */
export async function openAuthorFolder(
  ctx: AppContext,
  session: Session,
  task: Schema['task'],
  repository: Repository,
): Promise<Result<WorkFolder>> {
  const inside = insideOf(ctx);
  const ownerKey = authorFolderKey(task);
  let row = await workFolderByOwner(ctx.store.read, ownerKey);
  if (!row) {
    const synced = await syncBase(ctx, repository);
    if (!synced.ok) return synced;
    const changes = await resolveRef(ctx.forge, repository, `refs/chantier/changes/${changesKey(task.id)}`);
    const startCommit = changes ?? synced.value.base;
    const path = workFolderAt(ctx.forge, {
      ownerKey,
      repositoryId: repository.id,
      purpose: 'author',
      branch: undefined,
      startCommit,
    }).root;
    const recorded = await ctx.store.tx(async (tx) => {
      const number = await takeBranchNumber(tx, repository.id);
      if (!number.ok) return number;
      const branch = branchName(session.agent, number.value);
      return ok(
        await recordWorkFolder(tx, {
          repositoryId: repository.id,
          ownerKey,
          purpose: 'author',
          path,
          branch,
          startCommit,
          actor,
        }),
      );
    });
    if (!recorded.ok) return recorded;
    row = recorded.value;
  }
  const folder = await createWorkFolder(ctx.forge, repository, {
    ownerKey,
    purpose: 'author',
    ...(row.branch === undefined ? {} : { branch: row.branch }),
    startCommit: row.startCommit,
    identity: authorIdentity(session.agent),
    sandbox: inside.sandbox,
  });
  if (row.state === 'ready') return ok(folder);
  await ctx.store.tx((tx) => markWorkFolder(tx, { ownerKey, state: 'created', actor }));
  const network = await openNetwork(ctx, `setup-${ownerKey}`, []);
  const prepared = await prepareWorkFolder(ctx.forge, repository, folder, { ...inside, network });
  await closeNetwork(ctx, `setup-${ownerKey}`);
  await ctx.store.tx((tx) =>
    markWorkFolder(tx, {
      ownerKey,
      state: prepared.ok ? 'ready' : 'failed',
      ...(prepared.ok && prepared.value.setupKey !== undefined ? { setupKey: prepared.value.setupKey } : {}),
      actor,
    }),
  );
  return prepared.ok ? ok(folder) : prepared;
}

/** The folder of an author as recorded; `undefined` when there is none or it was removed. */
export async function findAuthorFolder(
  ctx: AppContext,
  task: Pick<Schema['task'], 'id' | 'attempts'>,
): Promise<WorkFolder | undefined> {
  const row = await workFolderByOwner(ctx.store.read, authorFolderKey(task));
  return row && row.state !== 'removed' ? workFolderAt(ctx.forge, row) : undefined;
}

/** The commit that new work starts from. */
export async function currentBase(ctx: AppContext, repository: Repository): Promise<string | undefined> {
  return baseTip(ctx.forge, repository);
}
