import { join } from 'node:path';

import { type Actor, canonicalJson, newId, ok, refuse, type RepositoryId, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import type { DetectedRepository } from './detect-repository.ts';
import type { ConfigSource, Repository } from './repository.ts';
import { configDigest, type RepositoryConfig } from './repository-config.ts';
import { repositoryById } from './repository-store.ts';

/** What an operator said about a repository; what is left out is read from the checkout. */
export interface OwnWords {
  setup?: string[][];
  checks?: RepositoryConfig['checks'];
}

/**
 * Registers a detected checkout; registered again with the same path it gives the one that is there, its base as it was, and
 * takes in what the checkout says now. The operator's own words are kept over that (design section 8) until others are said.
 * What is new waits for trust: the trusted configuration goes on. `forgeFolder` is the folder of all bare repositories.
 */
export async function registerRepository(
  tx: Tx,
  request: { detected: DetectedRepository; words?: OwnWords; forgeFolder: string; actor: Actor },
): Promise<Result<Repository>> {
  const { detected, actor } = request;
  const known = await tx.db
    .selectFrom('repository')
    .select(['id', 'own_words'])
    .where('operator_path', '=', detected.checkout.top)
    .executeTakeFirst();
  const kept = known?.own_words ? (JSON.parse(known.own_words) as OwnWords) : {};
  const words = { ...kept, ...request.words };
  const latest = withOwnWords(detected, words);
  if (known) return configureRepository(tx, { id: known.id, ...latest, words, actor });
  const id = newId<RepositoryId>();
  const remote = detected.remotes[0];
  const digest = configDigest(latest.config);
  await tx.db
    .insertInto('repository')
    .values({
      id,
      name: detected.name,
      operator_path: detected.checkout.top,
      operator_git_dir: detected.checkout.commonDir,
      base: detected.base,
      mode: detected.mode,
      remote_name: remote?.name ?? null,
      remote_url: remote?.url ?? null,
      forge_dir: join(request.forgeFolder, `${id}.git`),
      next_branch_number: 1,
      config: canonicalJson(latest.config),
      config_source: latest.source,
      config_digest: digest,
      own_words: wordsColumn(words),
      trusted_config: null,
      trusted_source: null,
      trusted_digest: null,
      trusted_by: null,
      trusted_at: null,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .execute();
  const facts = { mode: detected.mode, digest, baseCommit: detected.baseCommit };
  await tx.emit({ kind: 'repository.registered', actor, subject: { kind: 'repository', id }, facts });
  return readBack(tx, id);
}

/**
 * Sets the latest configuration (from the base tip, with the operator's words). Where its digest is not the trusted one it
 * waits for trust and governs nothing. Nothing happens when digest and words are the same.
 */
export async function configureRepository(
  tx: Tx,
  request: { id: string; config: RepositoryConfig; source: ConfigSource; words?: OwnWords; actor: Actor },
): Promise<Result<Repository>> {
  await tx.lock('repository', request.id);
  const digest = configDigest(request.config);
  if (request.words)
    await tx.db
      .updateTable('repository')
      .set({ own_words: wordsColumn(request.words) })
      .where('id', '=', request.id)
      .execute();
  const changed = await tx.db
    .updateTable('repository')
    .set({
      config: canonicalJson(request.config),
      config_source: request.source,
      config_digest: digest,
      updated_at: tx.now,
    })
    .where('id', '=', request.id)
    .where((eb) => eb.or([eb('config_digest', '!=', digest), eb('config_source', '!=', request.source)]))
    .returning('id')
    .executeTakeFirst();
  if (changed) {
    const facts = { digest, source: request.source };
    await tx.emit({
      kind: 'repository.configured',
      actor: request.actor,
      subject: { kind: 'repository', id: request.id },
      facts,
    });
  }
  return readBack(tx, request.id);
}

/** The configuration with the operator's words over it. A file stays named as its source: its other parts are still code. */
function withOwnWords(
  detected: Pick<DetectedRepository, 'config' | 'configSource'>,
  words: OwnWords,
): { config: RepositoryConfig; source: ConfigSource } {
  const { config, configSource } = detected;
  const { setup = config.workspace.setup, checks = config.checks } = words;
  const isInferred = configSource === 'inferred' && wordsColumn(words) === null;
  return {
    config: { ...config, workspace: { ...config.workspace, setup }, checks },
    source: isInferred ? 'inferred' : configSource === 'file' ? 'file' : 'operator',
  };
}

function wordsColumn(words: OwnWords): string | null {
  return words.setup === undefined && words.checks === undefined ? null : canonicalJson(words);
}

/**
 * A human trusts the latest configuration, which has this digest; it governs from now on (fresh proof is the caller's duty). Refuses `stale_digest` when the
 * configuration is another one by now, so that nobody trusts what they have not seen.
 */
export async function trustRepository(
  tx: Tx,
  request: { id: string; digest: string; actor: Actor },
): Promise<Result<Repository>> {
  await tx.lock('repository', request.id);
  const trusted = await tx.db
    .updateTable('repository')
    .set((eb) => ({
      trusted_config: eb.ref('config'),
      trusted_source: eb.ref('config_source'),
      trusted_digest: request.digest,
      trusted_by: request.actor.id,
      trusted_at: tx.now,
      updated_at: tx.now,
    }))
    .where('id', '=', request.id)
    .where('config_digest', '=', request.digest)
    .returning('id')
    .executeTakeFirst();
  if (!trusted) {
    const found = await repositoryById(tx.db, request.id);
    if (!found) return notFound(request.id);
    return refuse(
      'wrong-state',
      'stale_digest',
      `The configuration of repository ${found.name} changed; look at it again, then trust ${found.latest.digest.slice(0, 12)}.`,
      {
        digest: found.latest.digest,
      },
    );
  }
  const facts = { digest: request.digest };
  await tx.emit({
    kind: 'repository.trusted',
    actor: request.actor,
    subject: { kind: 'repository', id: request.id },
    facts,
  });
  return readBack(tx, request.id);
}

/** Takes the next number for a branch of this repository; each is given once. */
export async function takeBranchNumber(tx: Tx, id: string): Promise<Result<number>> {
  const row = await tx.db
    .updateTable('repository')
    .set((eb) => ({ next_branch_number: eb('next_branch_number', '+', 1) }))
    .where('id', '=', id)
    .returning('next_branch_number')
    .executeTakeFirst();
  return row ? ok(Number(row.next_branch_number) - 1) : notFound(id);
}

async function readBack(tx: Tx, id: string): Promise<Result<Repository>> {
  const repository = await repositoryById(tx.db, id);
  return repository ? ok(repository) : notFound(id);
}

function notFound(id: string): Result<never> {
  return refuse('not-found', 'repository_not_found', `There is no repository ${id}. \`chantier init\` registers one.`, {
    id,
  });
}
