import { ok, toRfc3339 } from '../../kernel/index.ts';
import {
  type CheckDefinition,
  type DetectedRepository,
  detectRepository,
  listRepositories,
  type Repository,
  trustRepository,
} from '../../forge/index.ts';
import { voidDecisions } from '../../store/index.ts';
import type { DetectionView, RepositoryView } from '../../wire/index.ts';
import { requireProof } from '../access/index.ts';
import type { RepositoryUseCases } from '../app.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';
import { findAgentPrograms } from './find-agents.ts';
import { findServers } from './find-servers.ts';
import { findRepository, registerCheckout } from './register-repository.ts';

/** Repositories: what is found in a checkout, registration, trust (design sections 4, 6, 8). */
export function repositoryUseCases(ctx: AppContext): RepositoryUseCases {
  return {
    async detect(_caller, request) {
      const detected = await detectRepository(
        ctx.forge,
        request.path,
        request.base === undefined ? {} : { base: request.base },
      );
      return detected.ok ? ok(await detectionView(ctx, detected.value)) : detected;
    },
    async register(caller, request) {
      const registered = await registerCheckout(ctx, caller, request);
      return registered.ok ? ok(await repositoryView(ctx, registered.value.repository)) : registered;
    },
    async list(_caller, query) {
      const all = (await listRepositories(ctx.store.read)).toSorted((a, b) => (a.id < b.id ? -1 : 1));
      const from = query.cursor === undefined ? 0 : all.findIndex((repository) => repository.id === query.cursor) + 1;
      const items = await Promise.all(
        all.slice(from, from + query.limit).map((repository) => repositoryView(ctx, repository)),
      );
      return ok({ items, nextCursor: from + query.limit < all.length ? (items.at(-1)?.id ?? null) : null });
    },
    async show(_caller, name) {
      const found = await findRepository(ctx, name);
      return found.ok ? ok(await repositoryView(ctx, found.value)) : found;
    },
    async trust(caller, name, request) {
      const proof = requireProof(caller, 'trust-repository');
      if (!proof.ok) return proof;
      const found = await findRepository(ctx, name);
      if (!found.ok) return found;
      const digest = request.digest ?? found.value.latest.digest;
      const trusted = await once(ctx.store, caller, 'repository.trust', { id: found.value.id, digest }, async (tx) => {
        const result = await trustRepository(tx, { id: found.value.id, digest, actor: caller.actor });
        if (!result.ok) return result;
        await voidDecisions(tx, { kind: 'repository_trust', subjectId: found.value.id }, 'trusted');
        return ok({ id: found.value.id });
      });
      return trusted.ok ? this.show(caller, found.value.id) : trusted;
    },
  };
}

async function detectionView(ctx: AppContext, detected: DetectedRepository): Promise<DetectionView> {
  const { staged, unstaged, untracked } = detected.dirty;
  const { workspace } = detected.config;
  return {
    path: detected.checkout.top,
    base: detected.base,
    baseCommit: detected.baseCommit,
    remote: detected.remotes[0]?.url ?? null,
    forge: 'local',
    mode: detected.mode,
    setup: workspace.setup,
    checks: checkViews(detected.config.checks),
    cacheKey: workspace.isCacheable ? workspace.cacheKey : [],
    fromCheckout: [...workspace.copy, ...(workspace.include ?? []), ...(workspace.link ?? [])],
    reasons: detected.explanations.map(({ what, why }) => `${what}: ${why}`),
    dirty: { staged, unstaged, untracked },
    configFile: detected.configSource === 'file' ? 'chantier.yml' : null,
    agents: await findAgentPrograms(ctx),
    servers: await findServers(detected.checkout.top, ctx.operatorHome),
    warnings: warningsOf(detected),
  };
}

/** A repository as a client sees it: its latest configuration, and whether that is the trusted one. */
export async function repositoryView(ctx: AppContext, repository: Repository): Promise<RepositoryView> {
  const trust = await ctx.store.read
    .selectFrom('repository')
    .select(['trusted_by', 'trusted_at'])
    .where('id', '=', repository.id)
    .executeTakeFirstOrThrow();
  return {
    id: repository.id,
    name: repository.name,
    path: repository.operatorPath,
    base: repository.base,
    forge: 'local',
    mode: repository.mode,
    setup: repository.latest.config.workspace.setup,
    checks: checkViews(repository.latest.config.checks),
    configSource: repository.latest.source,
    configDigest: repository.latest.digest,
    isTrusted: repository.isLatestTrusted,
    trustedBy: trust.trusted_by,
    trustedAt: trust.trusted_at === null ? null : toRfc3339(trust.trusted_at),
    createdAt: toRfc3339(repository.createdAt),
  };
}

function checkViews(checks: 'none' | readonly CheckDefinition[]): RepositoryView['checks'] {
  if (checks === 'none') return [];
  return checks.map(({ name, run, timeout, paths, network }) => ({
    name,
    run,
    timeoutMs: timeout,
    paths: paths ?? ['**'],
    network,
  }));
}

function warningsOf(detected: DetectedRepository): string[] {
  const warnings: string[] = [...detected.notes];
  if (detected.config.checks !== 'none' && detected.config.checks.length === 0)
    warnings.push('No checks were found: say `checks: none`, or name them at `init`; nothing lands before.');
  if (detected.operationInProgress)
    warnings.push(`A ${detected.operationInProgress} is not finished in this checkout.`);
  if (detected.github)
    warnings.push(
      'The remote is on GitHub; until its adapter is set up, reviewed changes end as branches with the commands to push them.',
    );
  return warnings;
}
