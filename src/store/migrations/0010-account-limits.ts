import { type Migration, run } from './migration.ts';

/** One breaker for each provider account (design section 7, "Provider limits and accounts"). */
export const accountLimits: Migration = {
  name: '0010-account-limits',
  breaking: false,
  async up(db, dialect) {
    await run(db, dialect, [
      `ALTER TABLE session ADD COLUMN account TEXT`,
      `CREATE INDEX session_account_ix ON session (account, state)`,
      `CREATE TABLE account_limit (
        account TEXT PRIMARY KEY,
        reason TEXT NOT NULL CHECK (reason IN ('usage','rate','billing','auth')),
        limited_until BIGINT,
        strikes BIGINT NOT NULL DEFAULT 1 CHECK (strikes >= 1),
        probe_session_id TEXT,
        probe_since BIGINT,
        updated_at BIGINT NOT NULL,
        CHECK ((probe_session_id IS NULL) = (probe_since IS NULL)))`,
    ]);
  },
};
