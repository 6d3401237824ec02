import { ok, refuse, type Result } from '../../kernel/index.ts';
import {
  type CheckDefinition,
  configureRepository,
  type DetectedRepository,
  detectRepository,
  registerRepository,
  type Repository,
  type RepositoryConfig,
  repositoryById,
  repositoryByPath,
  trustRepository,
} from '../../forge/index.ts';
import { openDecision, type Tx, voidDecisions } from '../../store/index.ts';
import { parseDuration } from '../../config/index.ts';
import type { RegisterRequest } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { syncBase } from './sync-base.ts';

/**
 * Registers the checkout at `request.path`, with the human's own words about set-up and checks where given, and brings its
 * base into the forge. What was inferred is trusted when the sandbox holds: it runs nowhere else. A `chantier.yml` waits for
 * `trust` (design section 4 "Repository configuration is code").
 */
export async function registerCheckout(
  ctx: AppContext,
  caller: Caller,
  request: RegisterRequest,
): Promise<Result<{ repository: Repository; detected: DetectedRepository; decisionId: string | undefined }>> {
  const detected = await detectRepository(
    ctx.forge,
    request.path,
    request.base === undefined ? {} : { base: request.base },
  );
  if (!detected.ok) return detected;
  const registered = await ctx.store.tx(async (tx) => {
    const row = await registerRepository(tx, {
      detected: detected.value,
      forgeFolder: ctx.paths.forge,
      actor: caller.actor,
    });
    if (!row.ok) return row;
    const worded = await applyOwnWords(tx, caller, row.value, request);
    return worded.ok ? settleTrust(tx, ctx, caller, worded.value) : worded;
  });
  if (!registered.ok) return registered;
  const synced = await syncBase(ctx, registered.value.repository);
  if (!synced.ok) return synced;
  return ok({ ...registered.value, detected: detected.value });
}

/** The registered repository of a name: id, name or path of its checkout. */
export async function findRepository(ctx: AppContext, name: string): Promise<Result<Repository>> {
  const db = ctx.store.read;
  const byName = await db.selectFrom('repository').select('id').where('name', '=', name).execute();
  const found =
    (await repositoryById(db, name)) ??
    (await repositoryByPath(db, name)) ??
    (byName.length === 1 ? await repositoryById(db, byName[0]!.id) : undefined);
  if (found) return ok(found);
  const several =
    byName.length > 1
      ? ` ${byName.length} repositories have this name; use an id or a path.`
      : ' `chantier init` registers one.';
  return refuse('not-found', 'repository_not_found', `There is no repository ${name}.${several}`, { name });
}

async function applyOwnWords(
  tx: Tx,
  caller: Caller,
  repository: Repository,
  request: RegisterRequest,
): Promise<Result<Repository>> {
  if (request.setup === undefined && request.checks === undefined) return ok(repository);
  const checks = readChecks(request.checks);
  if (!checks.ok) return checks;
  const config = {
    ...repository.config,
    workspace: { ...repository.config.workspace, setup: request.setup ?? repository.config.workspace.setup },
    checks: checks.value ?? repository.config.checks,
  };
  return configureRepository(tx, { id: repository.id, config, source: 'operator', actor: caller.actor });
}

/** The human's own checks; an empty list is "none", said on purpose. `undefined` = nothing was said. */
function readChecks(given: RegisterRequest['checks']): Result<RepositoryConfig['checks'] | undefined> {
  if (given === undefined) return ok(undefined);
  if (given.length === 0) return ok('none');
  const checks: CheckDefinition[] = [];
  for (const { name, run, timeout } of given) {
    const timeoutMs = timeout === undefined ? 600_000 : parseDuration(timeout);
    if (timeoutMs === undefined)
      return refuse('invalid', 'bad_duration', `Check ${name}: ${timeout} is no duration; write it like 90s or 10m.`, {
        name,
      });
    checks.push({ name, run, timeout: timeoutMs, maxOutput: 4 * 1024 * 1024, network: false });
  }
  return ok(checks);
}

/** Trusts what needs no question, else opens the decision `repository_trust`. */
export async function settleTrust(
  tx: Tx,
  ctx: AppContext,
  caller: Pick<Caller, 'actor'>,
  repository: Repository,
): Promise<Result<{ repository: Repository; decisionId: string | undefined }>> {
  if (repository.isTrusted) {
    await voidDecisions(tx, { kind: 'repository_trust', subjectId: repository.id }, 'trusted');
    return ok({ repository, decisionId: undefined });
  }
  if (repository.configSource !== 'file' && ctx.barrier.sandbox?.holds) {
    const trusted = await trustRepository(tx, {
      id: repository.id,
      digest: repository.configDigest,
      actor: caller.actor,
    });
    return trusted.ok ? ok({ repository: trusted.value, decisionId: undefined }) : trusted;
  }
  const { workspace, checks, policy } = repository.config;
  const decisionId = await openDecision(tx, {
    kind: 'repository_trust',
    subject: { kind: 'repository', id: repository.id },
    dedupeKey: `repository_trust:${repository.id}:${repository.configDigest}`,
    title: `Trust the commands of ${repository.name}?`,
    detail: {
      repository: repository.name,
      path: repository.operatorPath,
      source: repository.configSource,
      digest: repository.configDigest,
      setup: workspace.setup,
      checks: checks === 'none' ? 'none' : checks.map(({ name, run, network }) => ({ name, run, network })),
      environment: Object.keys(workspace.env),
      policy: (policy ?? null) as never,
    },
    actor: caller.actor,
  });
  return ok({ repository, decisionId });
}
