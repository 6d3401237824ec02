import type { Repository } from '../../forge/index.ts';
import type { PullRequest } from '../../review/index.ts';
import type { Tx } from '../../store/index.ts';

/** The part between `pr-` and `/r` has at most this many characters (S-59). */
const maxName = 64;

/**
 * Work key of a review: `pr-<n>/r<round>`. Numbers start at 1 in each repository, but a work key is used by one living session of the
 * whole instance: the oldest pull request of a number has the short key, the others carry their repository's name.
 */
export async function reviewWorkKey(
  tx: Tx,
  repository: Pick<Repository, 'id' | 'name'>,
  pullRequest: Pick<PullRequest, 'id' | 'number'>,
  round: number,
): Promise<string> {
  const { id, number } = pullRequest;
  const oldest = await tx.db
    .selectFrom('pull_request')
    .select('id')
    .where('number', '=', number)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst();
  if (oldest === undefined || oldest.id === id) return `pr-${number}/r${round}`;
  const others = await tx.db.selectFrom('repository').select('name').where('id', '!=', repository.id).execute();
  const slug = slugOf(repository.name);
  const isOwn = slug !== '' && !others.some((other) => slugOf(other.name) === slug);
  // Ids end in their random part.
  const name = isOwn ? slug : [slug, id.replaceAll(/[^A-Za-z0-9]/g, '').slice(-8)].filter(Boolean).join('-');
  return `pr-${name}-${number}/r${round}`;
}

function slugOf(name: string): string {
  const room = maxName - '-12345678-123456789'.length;
  return name
    .replaceAll(/[^A-Za-z0-9]+/g, '-')
    .slice(0, room)
    .replaceAll(/^-+|-+$/g, '');
}
