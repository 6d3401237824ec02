import { ok, type Refusal, type Result, systemActor } from '../../kernel/index.ts';
import {
  type Candidate,
  changedFiles,
  checkPointers,
  type CheckReport,
  createWorkFolder,
  type InSandbox,
  leasePorts,
  markWorkFolder,
  prepareWorkFolder,
  recordCheckRun,
  recordWorkFolder,
  removeWorkFolder,
  type Repository,
  runChecks,
  serverIdentity,
  type WorkFolder,
  workFolderAt,
} from '../../forge/index.ts';
import type { Landing, LandingFailure } from '../../review/index.ts';
import type { AppContext } from '../context.ts';
import { closeNetwork, openNetwork } from '../launch/agent-network.ts';
import { insideOf } from '../workspace/inside.ts';

const actor = systemActor('landing');

/** Runs the checks of the base on the candidate, in a clone of its own that is removed afterwards. */
export async function checkCandidate(
  ctx: AppContext,
  repository: Repository,
  candidate: Candidate,
  landing: Landing,
): Promise<Result<CheckReport>> {
  const change = await changedFiles(ctx.forge, repository, candidate.baseTip, candidate.commit);
  const damaged = await checkPointers(ctx.forge, repository, candidate.commit, change);
  if (damaged) return ok({ said: 'checks', commit: candidate.commit, results: [damaged], allPassed: false });
  const place = { ownerKey: `landing-${landing.id}`, startCommit: candidate.commit };
  return inCandidateFolder(ctx, repository, place, async (folder, inside) => {
    if (repository.config.checks !== 'none') {
      const prepared = await prepareWorkFolder(ctx.forge, repository, folder, inside);
      if (!prepared.ok) return prepared;
    }
    const key = `${landing.id}.${candidate.commit}`;
    const report = await runChecks(ctx.forge, repository, folder, {
      ...inside,
      key,
      commit: candidate.commit,
      changedPaths: change.files.map((file) => file.path),
    });
    if (!report.ok) return report;
    await ctx.store.tx((tx) => recordCheckRun(tx, { repositoryId: repository.id, key, report: report.value, actor }));
    return ok(report.value);
  });
}

/**
 * Who can do something about checks that did not come to a result. A set-up that fails on the candidate is the author's only
 * if the same set-up passes on the base now, without a cache; else the machine is at fault (a registry that is down).
 */
export async function blameOf(
  ctx: AppContext,
  repository: Repository,
  candidate: Candidate,
  landing: Landing,
  refusal: Refusal,
): Promise<LandingFailure> {
  switch (refusal.code) {
    case 'setup_failed':
      return (await baseSetsUp(ctx, repository, candidate, landing)) ? 'checks_failed' : 'error';
    case 'not_trusted':
    case 'no_checks':
    case 'program_missing':
      return 'refused';
    default:
      return 'error';
  }
}

async function baseSetsUp(
  ctx: AppContext,
  repository: Repository,
  candidate: Candidate,
  landing: Landing,
): Promise<boolean> {
  const place = { ownerKey: `landing-${landing.id}-base`, startCommit: candidate.baseTip };
  return inCandidateFolder(ctx, repository, place, async (folder, inside) => {
    const prepared = await prepareWorkFolder(ctx.forge, repository, folder, { ...inside, withoutCache: true });
    return prepared.ok;
  });
}

/** A clone at a commit with its way out, both gone afterwards whatever happens. */
async function inCandidateFolder<T>(
  ctx: AppContext,
  repository: Repository,
  place: { ownerKey: string; startCommit: string },
  work: (folder: WorkFolder, inside: InSandbox) => Promise<T>,
): Promise<T> {
  const { ownerKey, startCommit } = place;
  const inside = insideOf(ctx);
  const network = await openNetwork(ctx, ownerKey, []);
  try {
    const key = {
      ownerKey,
      repositoryId: repository.id,
      purpose: 'candidate',
      startCommit,
    } as const;
    const path = workFolderAt(ctx.forge, { ...key, branch: undefined }).root;
    await ctx.store.tx((tx) => recordWorkFolder(tx, { ...key, path, actor }));
    const request = { ownerKey, purpose: 'candidate', startCommit, identity: serverIdentity } as const;
    const created = await createWorkFolder(ctx.forge, repository, { ...request, sandbox: inside.sandbox });
    const names = repository.config.workspace.ports ?? [];
    const folder = { ...created, ports: await leasePorts(ctx.store, { ownerKey, names, actor }) };
    try {
      return await work(folder, { ...inside, network });
    } finally {
      await removeFolder(ctx, repository, folder);
    }
  } finally {
    await closeNetwork(ctx, ownerKey);
  }
}

async function removeFolder(ctx: AppContext, repository: Repository, folder: WorkFolder): Promise<void> {
  const removed = await removeWorkFolder(ctx.forge, repository, folder, insideOf(ctx));
  if (!removed.ok) {
    ctx.log.warn({ folder: folder.root, code: removed.refusal.code }, 'a folder of a candidate could not be removed');
    return;
  }
  await ctx.store.tx((tx) => markWorkFolder(tx, { ownerKey: folder.ownerKey, state: 'removed', actor }));
}
