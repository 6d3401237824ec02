import { join } from 'node:path';

import { type Actor, canonicalJson, newId, ok, refuse, type RepositoryId, type Result } from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import type { DetectedRepository } from './detect-repository.ts';
import type { Repository } from './repository.ts';
import { configDigest, type RepositoryConfig } from './repository-config.ts';
import { repositoryById, repositoryByPath } from './repository-store.ts';

/**
 * Registers a detected checkout; registered again with the same path it gives the one that is there (its configuration is
 * refreshed, its base stays). `forgeFolder` is the folder of all bare repositories.
 */
export async function registerRepository(
  tx: Tx,
  request: { detected: DetectedRepository; forgeFolder: string; actor: Actor },
): Promise<Result<Repository>> {
  const { detected, actor } = request;
  const known = await repositoryByPath(tx.db, detected.checkout.top);
  if (known)
    return configureRepository(tx, { id: known.id, config: detected.config, source: detected.configSource, actor });
  const id = newId<RepositoryId>();
  const remote = detected.remotes[0];
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
      config: canonicalJson(detected.config),
      config_source: detected.configSource,
      config_digest: detected.configDigest,
      trusted_digest: null,
      trusted_by: null,
      trusted_at: null,
      created_at: tx.now,
      updated_at: tx.now,
    })
    .execute();
  const facts = { mode: detected.mode, digest: detected.configDigest, baseCommit: detected.baseCommit };
  await tx.emit({ kind: 'repository.registered', actor, subject: { kind: 'repository', id }, facts });
  return readBack(tx, id);
}

/**
 * Sets the configuration (from the base tip, or as the operator answered). A digest that differs from the trusted one needs
 * trust again. Nothing happens when the digest is the same.
 */
export async function configureRepository(
  tx: Tx,
  request: { id: string; config: RepositoryConfig; source: Repository['configSource']; actor: Actor },
): Promise<Result<Repository>> {
  await tx.lock('repository', request.id);
  const digest = configDigest(request.config);
  const changed = await tx.db
    .updateTable('repository')
    .set({
      config: canonicalJson(request.config),
      config_source: request.source,
      config_digest: digest,
      updated_at: tx.now,
    })
    .where('id', '=', request.id)
    .where('config_digest', '!=', digest)
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

/**
 * A human trusts the configuration with this digest (fresh proof is the caller's duty). Refuses `stale_digest` when the
 * configuration is another one by now, so that nobody trusts what they have not seen.
 */
export async function trustRepository(
  tx: Tx,
  request: { id: string; digest: string; actor: Actor },
): Promise<Result<Repository>> {
  await tx.lock('repository', request.id);
  const trusted = await tx.db
    .updateTable('repository')
    .set({ trusted_digest: request.digest, trusted_by: request.actor.id, trusted_at: tx.now, updated_at: tx.now })
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
      `The configuration of repository ${found.name} changed; look at it again, then trust ${found.configDigest.slice(0, 12)}.`,
      {
        digest: found.configDigest,
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
