import { ok, refuse, type Result, systemActor } from '../../kernel/index.ts';
import {
  branchName,
  createWorkFolder,
  type GitIdentity,
  leasePorts,
  markWorkFolder,
  prepareWorkFolder,
  type Repository,
  recordWorkFolder,
  renewWorkFolder,
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

/** Where the refs of `--with-changes` live; a task's `base` names one when it starts from the operator's uncommitted work. */
export const changesRefs = 'refs/chantier/changes/';

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
  const ownerKey = session.folderKey;
  let row = await workFolderByOwner(ctx.store.read, ownerKey);
  // A removed one comes back for a conversation that goes on in it (design section 6 "Undo").
  if (!row || row.state === 'removed') {
    const isKnown = row !== undefined;
    const synced = await syncBase(ctx, repository);
    if (!synced.ok) return synced;
    const start = await startOf(ctx, repository, task, synced.value.base);
    if (!start.ok) return start;
    const startCommit = start.value;
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
      if (isKnown) return ok(await renewWorkFolder(tx, { ownerKey, branch, startCommit, actor }));
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
  const names = repository.config.workspace.ports ?? [];
  const ports = await leasePorts(ctx.store, { ownerKey, names, actor });
  const created = await createWorkFolder(ctx.forge, repository, {
    ownerKey,
    purpose: 'author',
    ...(row.branch === undefined ? {} : { branch: row.branch }),
    startCommit: row.startCommit,
    identity: authorIdentity(session.agent),
    sandbox: inside.sandbox,
  });
  const folder = { ...created, ports };
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

/** The base tip, or the operator's uncommitted work where the task was started with it. */
async function startOf(
  ctx: AppContext,
  repository: Repository,
  task: Schema['task'],
  base: string,
): Promise<Result<string>> {
  if (!task.base?.startsWith(changesRefs)) return ok(base);
  const changes = await resolveRef(ctx.forge, repository, task.base);
  if (changes) return ok(changes);
  return refuse(
    'not-found',
    'changes_lost',
    `The snapshot ${task.base} that task ${task.codename} starts from is gone; run the request again.`,
  );
}

/** The folders of a task's author sessions that were not removed, newest first. */
export async function foldersOfTask(ctx: AppContext, taskId: string): Promise<WorkFolder[]> {
  const sessions = await ctx.store.read
    .selectFrom('session')
    .select(['id', 'folder_key'])
    .where('task_id', '=', taskId)
    .where('role', '=', 'author')
    .orderBy('created_at', 'desc')
    .execute();
  const keys = [...new Set(sessions.map((session) => session.folder_key ?? session.id))];
  const rows = await Promise.all(keys.map((key) => workFolderByOwner(ctx.store.read, key)));
  return rows.flatMap((row) => (row && row.state !== 'removed' ? [workFolderAt(ctx.forge, row)] : []));
}
