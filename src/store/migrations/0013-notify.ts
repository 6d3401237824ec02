import { type Migration, run } from './migration.ts';

/** What receivers outside were told, and the owner list of Telegram. Source: S-35, design section 4. */
export const notify: Migration = {
  name: '0013-notify',
  breaking: false,
  async up(db, dialect) {
    await run(db, dialect, [
      `CREATE TABLE notice (
        id TEXT PRIMARY KEY,
        target TEXT NOT NULL,
        subject TEXT NOT NULL,
        is_critical SMALLINT NOT NULL,
        opened_at BIGINT NOT NULL,
        told BIGINT NOT NULL,
        told_ids TEXT NOT NULL,
        next_at BIGINT NOT NULL,
        last_sent_at BIGINT,
        UNIQUE (target, subject))`,
      `CREATE TABLE notice_message (
        key TEXT PRIMARY KEY,
        target TEXT NOT NULL,
        notices TEXT NOT NULL,
        decisions TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('sending','sent')),
        remote_id TEXT,
        created_at BIGINT NOT NULL,
        sent_at BIGINT)`,
      `CREATE INDEX notice_message_remote_ix ON notice_message (target, remote_id)`,
      `CREATE TABLE notify_target (
        target TEXT PRIMARY KEY,
        cursor BIGINT NOT NULL,
        failures BIGINT NOT NULL,
        retry_at BIGINT,
        last_error TEXT,
        last_error_at BIGINT,
        last_ok_at BIGINT)`,
      `CREATE TABLE telegram_owner (
        telegram_id TEXT PRIMARY KEY,
        user_id TEXT NOT NULL REFERENCES user_account (id),
        added_by TEXT NOT NULL,
        created_at BIGINT NOT NULL)`,
    ]);
  },
};
