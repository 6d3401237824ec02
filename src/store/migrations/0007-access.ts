import { type Migration, run } from './migration.ts';

/** Users, log-ins, proofs. Source: design section 4. */
export const access: Migration = {
  name: '0007-access',
  breaking: true,
  async up(db, dialect) {
    await run(db, dialect, [
      `CREATE TABLE user_account (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL UNIQUE CHECK (name = lower(name)),
        role TEXT NOT NULL CHECK (role IN ('operator','viewer')),
        passphrase_hash TEXT NOT NULL,
        created_by TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        disabled_at BIGINT)`,
      `CREATE TABLE console_session (
        id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES user_account (id),
        cookie_hash TEXT NOT NULL UNIQUE,
        proof_hash TEXT,
        created_at BIGINT NOT NULL,
        last_used_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        ended_at BIGINT)`,
      `CREATE TABLE proof (
        hash TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES user_account (id),
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        used_at BIGINT,
        used_for TEXT,
        CHECK ((used_at IS NULL) = (used_for IS NULL)))`,
      `CREATE INDEX proof_expiry_ix ON proof (expires_at)`,
      `CREATE TABLE unlock (
        id TEXT PRIMARY KEY,
        token_hash TEXT NOT NULL UNIQUE,
        user_id TEXT NOT NULL REFERENCES user_account (id),
        created_at BIGINT NOT NULL,
        last_used_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        ended_at BIGINT)`,
      `CREATE TABLE log_in_failure (
        bucket TEXT PRIMARY KEY,
        failures BIGINT NOT NULL,
        blocked_until BIGINT NOT NULL,
        last_at BIGINT NOT NULL)`,
      `CREATE TABLE first_run (
        secret_hash TEXT PRIMARY KEY,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        used_at BIGINT)`,
    ]);
  },
};
