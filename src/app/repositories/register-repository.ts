import type { Kysely } from 'kysely';

import { type Actor, ok, refuse, type Result } from '../../kernel/index.ts';
import {
  type CheckDefinition,
  type DetectedRepository,
  detectRepository,
  type OwnWords,
  registerRepository,
  type Repository,
  type RepositoryConfig,
  repositoryById,
  repositoryByPath,
  trustRepository,
} from '../../forge/index.ts';
import { openDecision, type Schema, type Tx, voidDecisions } from '../../store/index.ts';
import { parseDuration } from '../../config/index.ts';
import type { RegisterRequest } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { syncBase } from './sync-base.ts';

/**
 * Registers the checkout at `request.path`, with the human's own words about set-up and checks where given, and brings its
 * base into the forge. What was inferred is trusted when the sandbox holds: it runs nowhere else. A `chantier.yml`, and each
 * change of it, waits for `trust` while the trusted one goes on (design section 4 "Repository configuration is code").
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
  const words = readWords(request);
  if (!words.ok) return words;
  const registered = await ctx.store.tx(async (tx) => {
    const row = await registerRepository(tx, {
      detected: detected.value,
      words: words.value,
      forgeFolder: ctx.paths.forge,
      actor: caller.actor,
    });
    return row.ok ? settleTrust(tx, ctx, caller, row.value) : row;
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

/** What the human said about set-up and checks, or nothing. */
function readWords(request: RegisterRequest): Result<OwnWords> {
  const checks = readChecks(request.checks);
  if (!checks.ok) return checks;
  return ok({
    ...(request.setup === undefined ? {} : { setup: request.setup }),
    ...(checks.value === undefined ? {} : { checks: checks.value }),
  });
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

/**
 * Trusts what needs no question, else opens the decision `repository_trust`: what is trusted already goes on meanwhile.
 * Questions about an older configuration go away.
 */
export async function settleTrust(
  tx: Tx,
  ctx: AppContext,
  caller: Pick<Caller, 'actor'> & Partial<Pick<Caller, 'proof'>>,
  repository: Repository,
): Promise<Result<{ repository: Repository; decisionId: string | undefined }>> {
  const { latest } = repository;
  if (repository.isLatestTrusted) {
    await voidDecisions(tx, { kind: 'repository_trust', subjectId: repository.id }, 'trusted');
    return ok({ repository, decisionId: undefined });
  }
  if (needsNoQuestion(ctx, caller, repository)) {
    const trusted = await trustRepository(tx, { id: repository.id, digest: latest.digest, actor: caller.actor });
    if (!trusted.ok) return trusted;
    await voidDecisions(tx, { kind: 'repository_trust', subjectId: repository.id }, 'trusted');
    return ok({ repository: trusted.value, decisionId: undefined });
  }
  const dedupeKey = trustQuestion(repository);
  await voidOlderQuestions(tx, repository, dedupeKey);
  const open = await findTrustQuestion(tx.db, repository);
  if (open !== undefined) return ok({ repository, decisionId: open });
  const { workspace, checks, policy, agents, review, land, risk } = latest.config;
  const decisionId = await openDecision(tx, {
    kind: 'repository_trust',
    subject: { kind: 'repository', id: repository.id },
    dedupeKey,
    title: `Trust the commands of ${repository.name}?`,
    detail: {
      repository: repository.name,
      path: repository.operatorPath,
      source: latest.source,
      digest: latest.digest,
      setup: workspace.setup,
      checks: checks === 'none' ? 'none' : checks.map(({ name, run, network }) => ({ name, run, network })),
      fromCheckout: [...workspace.copy, ...(workspace.include ?? []), ...(workspace.link ?? [])],
      environment: Object.keys(workspace.env),
      policy: (policy ?? null) as never,
      rules: { agents: agents ?? null, review: review ?? null, land: land ?? null, risk: risk ?? null } as never,
    },
    actor: caller.actor,
  });
  return ok({ repository, decisionId });
}

/** As `settleTrust`, for loops, which come by often: what is asked already is found by a read. */
export async function trustOrAsk(
  ctx: AppContext,
  actor: Actor,
  repository: Repository,
): Promise<Result<{ repository: Repository; decisionId: string | undefined }>> {
  const open = needsNoQuestion(ctx, {}, repository) ? undefined : await findTrustQuestion(ctx.store.read, repository);
  if (open !== undefined) return ok({ repository, decisionId: open });
  return ctx.store.tx((tx) => settleTrust(tx, ctx, { actor }, repository));
}

/** The open question about the latest configuration, if any. */
async function findTrustQuestion(
  db: Kysely<Schema>,
  repository: Pick<Repository, 'id' | 'latest'>,
): Promise<string | undefined> {
  const row = await db
    .selectFrom('decision_request')
    .select('id')
    .where('dedupe_key', '=', trustQuestion(repository))
    .where('state', '=', 'open')
    .executeTakeFirst();
  return row?.id;
}

/**
 * What was inferred, with the operator's own words, runs inside the sandbox and only there; without one the passphrase given
 * with the words is the yes. Nothing that a file says, and nothing that takes a trusted file's place, is trusted by itself.
 */
function needsNoQuestion(
  ctx: AppContext,
  caller: Partial<Pick<Caller, 'proof'>>,
  { latest, trustedSource, config, isTrusted }: Repository,
): boolean {
  // Which of the operator's files a work folder gets to see was shown at registration; more of them is a new question.
  const known = config.workspace.include ?? [];
  if (isTrusted && (latest.config.workspace.include ?? []).some((pattern) => !known.includes(pattern))) return false;
  if (latest.source === 'file' || trustedSource === 'file') return false;
  return ctx.barrier.sandbox?.holds === true || (latest.source === 'operator' && caller.proof === 'fresh');
}

function trustQuestion(repository: Pick<Repository, 'id' | 'latest'>): string {
  return `repository_trust:${repository.id}:${repository.latest.digest}`;
}

async function voidOlderQuestions(tx: Tx, repository: Repository, current: string): Promise<void> {
  const older = await tx.db
    .selectFrom('decision_request')
    .select('dedupe_key')
    .where('kind', '=', 'repository_trust')
    .where('subject_id', '=', repository.id)
    .where('state', '=', 'open')
    .where('dedupe_key', '!=', current)
    .execute();
  for (const { dedupe_key: dedupeKey } of older) await voidDecisions(tx, { dedupeKey }, 'configuration changed');
}
