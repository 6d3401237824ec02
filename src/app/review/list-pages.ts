import { type Landing, listLandings, type PullRequest, readLanding, readPullRequest } from '../../review/index.ts';
import type { AppContext } from '../context.ts';

/** One page; `nextCursor` is the id that the next one begins after. */
export interface ListPage<T> {
  items: T[];
  nextCursor: string | null;
}

/** Pull requests, oldest first, picked by the database: what is not on the page is not built. */
export async function pageOfPullRequests(
  ctx: Pick<AppContext, 'store'>,
  filter: { repositoryId?: string; states?: readonly PullRequest['state'][]; isOpen?: boolean },
  page: { limit: number; cursor?: string | undefined },
): Promise<ListPage<PullRequest>> {
  const db = ctx.store.read;
  let query = db.selectFrom('pull_request').select('id');
  if (filter.repositoryId !== undefined) query = query.where('repository_id', '=', filter.repositoryId);
  if (filter.states !== undefined) query = query.where('state', 'in', [...filter.states]);
  if (filter.isOpen === true) query = query.where('closed_at', 'is', null);
  const after = page.cursor === undefined ? undefined : await readPullRequest(db, page.cursor);
  if (after) {
    query = query.where((eb) =>
      eb.or([
        eb('created_at', '>', after.createdAt),
        eb.and([eb('created_at', '=', after.createdAt), eb('id', '>', after.id)]),
      ]),
    );
  }
  const rows = await query
    .orderBy('created_at')
    .orderBy('id')
    .limit(page.limit + 1)
    .execute();
  const found = await Promise.all(rows.slice(0, page.limit).map(({ id }) => readPullRequest(db, id)));
  return pageOf(
    found.filter((one) => one !== undefined),
    rows.length > page.limit,
  );
}

/** Landings, newest first. */
export async function pageOfLandings(
  ctx: Pick<AppContext, 'store'>,
  page: { limit: number; cursor?: string | undefined },
): Promise<ListPage<Landing>> {
  const db = ctx.store.read;
  const after = page.cursor === undefined ? undefined : await readLanding(db, page.cursor);
  if (!after) {
    const found = await listLandings(db, { limit: page.limit + 1 });
    return pageOf(found.slice(0, page.limit), found.length > page.limit);
  }
  const rows = await db
    .selectFrom('landing')
    .select('id')
    .where((eb) =>
      eb.or([
        eb('created_at', '<', after.createdAt),
        eb.and([eb('created_at', '=', after.createdAt), eb('id', '<', after.id)]),
      ]),
    )
    .orderBy('created_at', 'desc')
    .orderBy('id', 'desc')
    .limit(page.limit + 1)
    .execute();
  const found = await Promise.all(rows.slice(0, page.limit).map(({ id }) => readLanding(db, id)));
  return pageOf(
    found.filter((one) => one !== undefined),
    rows.length > page.limit,
  );
}

function pageOf<T extends { id: string }>(items: T[], hasMore: boolean): ListPage<T> {
  return { items, nextCursor: hasMore ? (items.at(-1)?.id ?? null) : null };
}
