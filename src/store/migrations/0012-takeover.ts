import { type Migration, run } from './migration.ts';

/** Humans at the wheel of a session. Source: design section 7. */
export const takeover: Migration = {
  name: '0012-takeover',
  // An older binary would resume a session that a human works in.
  breaking: true,
  async up(db, dialect) {
    await run(db, dialect, [
      `CREATE TABLE takeover (
        id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL REFERENCES session (id),
        generation BIGINT NOT NULL,
        taken_by TEXT NOT NULL,
        taken_at BIGINT NOT NULL,
        start_commit TEXT,
        terminals BIGINT NOT NULL DEFAULT 0,
        ended_at BIGINT,
        ended_by TEXT,
        outcome TEXT CHECK (outcome IN ('handed_back','session_ended')),
        end_commit TEXT,
        note TEXT,
        resumed_generation BIGINT,
        CHECK ((ended_at IS NULL) = (outcome IS NULL)))`,
      `CREATE UNIQUE INDEX takeover_open_ux ON takeover (session_id) WHERE ended_at IS NULL`,
      `CREATE INDEX takeover_session_ix ON takeover (session_id, taken_at)`,
    ]);
  },
};
