import type { Store } from '../../store/index.ts';

/** How long what a watched session asked is kept after it ended, ms. Its events stay; they hold no text. */
const keptMs = 30 * 24 * 3_600_000;
/** Rows of one pass; the next goes on. */
const mostRows = 1_000;

/** Removes what was asked and answered long ago, with the inputs that it holds, and sessions that ended before. Gives how many rows went. */
export async function forgetWatched(store: Store): Promise<number> {
  return store.tx(async (tx) => {
    const before = tx.now - keptMs;
    const requests = await tx.db
      .deleteFrom('watched_request')
      .where('id', 'in', (eb) =>
        eb.selectFrom('watched_request').select('id').where('ended_at', '<', before).limit(mostRows),
      )
      .executeTakeFirst();
    const sessions = await tx.db
      .deleteFrom('watched_session')
      .where('id', 'in', (eb) =>
        eb
          .selectFrom('watched_session as old')
          .select('old.id')
          .where('old.ended_at', '<', before)
          .where(({ not, exists, selectFrom }) =>
            not(
              exists(
                selectFrom('watched_request')
                  .select('watched_request.id')
                  .whereRef('watched_request.watched_session_id', '=', 'old.id'),
              ),
            ),
          )
          .limit(mostRows),
      )
      .executeTakeFirst();
    return Number(requests.numDeletedRows) + Number(sessions.numDeletedRows);
  });
}
