import type { Kysely } from 'kysely';

import { systemActor } from '../../kernel/index.ts';
import type { Repository } from '../../forge/index.ts';
import type { Landing } from '../../review/index.ts';
import { openDecision, type Schema, type Tx } from '../../store/index.ts';

/**
 * Closes a base on which something landed that is no honest merge of what was reviewed (P3 `land`). The open decision is the
 * freeze: nothing more lands there until a human has looked and settled it.
 */
export async function freezeBase(tx: Tx, repository: Repository, landing: Landing): Promise<void> {
  const { name, base } = repository;
  await openDecision(tx, {
    kind: 'base_conflict',
    subject: { kind: 'repository', id: repository.id },
    dedupeKey: freezeKey(repository.id),
    title: `${name}: ${base} takes nothing more: what landed is not what was reviewed`,
    detail: {
      repository: name,
      base,
      reason: 'tree_mismatch',
      landing: landing.id,
      commit: landing.candidate,
      head: landing.expectedHead,
      files: [],
      text: `The tree of ${landing.candidate?.slice(0, 12)} is not the merge of the reviewed head into its parent. Compare them, revert the landing where needed, then settle this: ${base} opens again.`,
    },
    actor: systemActor('landing'),
  });
}

/** Whether a base is frozen. */
export async function isBaseFrozen(db: Kysely<Schema>, repositoryId: string): Promise<boolean> {
  const row = await db
    .selectFrom('decision_request')
    .select('id')
    .where('dedupe_key', '=', freezeKey(repositoryId))
    .where('state', '=', 'open')
    .executeTakeFirst();
  return row !== undefined;
}

function freezeKey(repositoryId: string): string {
  return `base_frozen:${repositoryId}`;
}
