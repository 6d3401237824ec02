import { type Migration, run } from './migration.ts';

/** Sessions that people start by hand, and what they wait for. Source: design section 7. */
export const watched: Migration = {
  name: '0011-watched',
  breaking: false,
  async up(db, dialect) {
    await run(db, dialect, [
      `CREATE TABLE watched_session (
        id TEXT PRIMARY KEY,
        agent TEXT NOT NULL CHECK (agent IN ('claude','codex','gemini')),
        native_id TEXT NOT NULL,
        node_id TEXT NOT NULL,
        cwd TEXT NOT NULL,
        pid BIGINT,
        pid_started BIGINT,
        boot_id TEXT,
        state TEXT NOT NULL CHECK (state IN ('idle','working','waiting','ended')),
        started_at BIGINT NOT NULL,
        seen_at BIGINT NOT NULL,
        ended_at BIGINT,
        UNIQUE (agent, native_id),
        CHECK ((state = 'ended') = (ended_at IS NOT NULL)))`,
      `CREATE INDEX watched_session_living_ix ON watched_session (node_id) WHERE ended_at IS NULL`,
      `CREATE TABLE watched_request (
        id TEXT PRIMARY KEY,
        watched_session_id TEXT NOT NULL REFERENCES watched_session (id),
        kind TEXT NOT NULL CHECK (kind IN ('permission','question','notice')),
        tool TEXT NOT NULL,
        input TEXT,
        digest TEXT NOT NULL,
        decision_id TEXT,
        state TEXT NOT NULL CHECK (state IN ('open','answered','void')),
        reason TEXT,
        output TEXT,
        created_at BIGINT NOT NULL,
        polled_at BIGINT NOT NULL,
        ended_at BIGINT,
        CHECK ((state = 'open') = (ended_at IS NULL)),
        CHECK ((state = 'answered') = (output IS NOT NULL)))`,
      `CREATE INDEX watched_request_open_ix ON watched_request (watched_session_id) WHERE state = 'open'`,
    ]);
  },
};
