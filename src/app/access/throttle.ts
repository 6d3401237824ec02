import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { Store } from '../../store/index.ts';

/** Failures that cost nothing; the next ones wait 1, 2, 4 … seconds. */
const freeFailures = 4;
/** The longest wait: a guesser gets 1 440 tries a day, and nobody can lock an operator out for longer. */
const longestWaitMs = 60_000;
/** A bucket forgets after this long without a failure. */
const forgetAfterMs = 60 * 60 * 1000;

/**
 * Takes one try from the bucket, counted as a failure until `forgiveFailures`, so that tries side by side cannot share a
 * free one. Refuses `quota` while the bucket has to wait; asking meanwhile does not lengthen the wait.
 */
export async function takeAttempt(store: Store, bucket: string): Promise<Result<undefined>> {
  return store.tx(async (tx) => {
    const row = await tx.db.selectFrom('log_in_failure').selectAll().where('bucket', '=', bucket).executeTakeFirst();
    const waitMs = (row?.blocked_until ?? 0) - tx.now;
    if (waitMs > 0) {
      const seconds = Math.ceil(waitMs / 1000);
      return refuse('quota', 'too_many_attempts', `Too many wrong passphrases: try again in ${seconds} s.`, {
        retry_after_s: seconds,
      });
    }
    const known = row && row.last_at > tx.now - forgetAfterMs ? row.failures : 0;
    const failures = known + 1;
    const over = failures - freeFailures;
    const wait = over > 0 ? Math.min(longestWaitMs, 1000 * 2 ** Math.min(over - 1, 16)) : 0;
    const values = { failures, blocked_until: tx.now + wait, last_at: tx.now };
    await tx.db
      .insertInto('log_in_failure')
      .values({ bucket, ...values })
      .onConflict((conflict) => conflict.column('bucket').doUpdateSet(values))
      .execute();
    return ok();
  });
}

/** Forgets the failures after a success. */
export async function forgiveFailures(store: Store, bucket: string): Promise<void> {
  await store.tx(async (tx) => {
    await tx.db.deleteFrom('log_in_failure').where('bucket', '=', bucket).execute();
  });
}
