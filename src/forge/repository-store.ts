import type { Kysely } from 'kysely';

import type { RepositoryId } from '../kernel/index.ts';
import type { Schema } from '../store/index.ts';
import type { Repository } from './repository.ts';
import { nothingTrusted, type RepositoryConfig } from './repository-config.ts';

type RepositoryRow = Schema['repository'];

/** The repository with this id; `db` is `tx.db` or `store.read`. */
export async function repositoryById(db: Kysely<Schema>, id: string): Promise<Repository | undefined> {
  const row = await db.selectFrom('repository').selectAll().where('id', '=', id).executeTakeFirst();
  return row && toRepository(row);
}

/** The repository whose checkout has this top folder (real path). */
export async function repositoryByPath(db: Kysely<Schema>, operatorPath: string): Promise<Repository | undefined> {
  const row = await db
    .selectFrom('repository')
    .selectAll()
    .where('operator_path', '=', operatorPath)
    .executeTakeFirst();
  return row && toRepository(row);
}

/** All repositories, by name. */
export async function listRepositories(db: Kysely<Schema>): Promise<Repository[]> {
  const rows = await db.selectFrom('repository').selectAll().orderBy('name').orderBy('id').execute();
  return rows.map(toRepository);
}

export function toRepository(row: RepositoryRow): Repository {
  return {
    id: row.id as RepositoryId,
    name: row.name,
    operatorPath: row.operator_path,
    base: row.base,
    mode: row.mode,
    remote: row.remote_name === null ? undefined : { name: row.remote_name, url: row.remote_url ?? '' },
    forgeDir: row.forge_dir,
    config: row.trusted_config === null ? nothingTrusted : (JSON.parse(row.trusted_config) as RepositoryConfig),
    isTrusted: row.trusted_config !== null,
    latest: {
      config: JSON.parse(row.config) as RepositoryConfig,
      source: row.config_source,
      digest: row.config_digest,
    },
    isLatestTrusted: row.trusted_digest === row.config_digest,
    trustedSource: row.trusted_source ?? undefined,
    createdAt: Number(row.created_at),
  };
}
