import { type Migration, run } from './migration.ts';

/** Clients of the claude-peers port and what waits for them (sessions decision 10). */
export const outsidePeers: Migration = {
  name: '0015-outside-peers',
  breaking: false,
  async up(db, dialect) {
    await run(db, dialect, [
      `CREATE TABLE outside_peer (
        id TEXT PRIMARY KEY,
        node_id TEXT NOT NULL,
        pid BIGINT NOT NULL,
        process_mark TEXT,
        cwd TEXT NOT NULL,
        git_root TEXT,
        tty TEXT,
        summary TEXT NOT NULL,
        registered_at BIGINT NOT NULL,
        last_seen_at BIGINT NOT NULL,
        gone_at BIGINT)`,
      `CREATE INDEX outside_peer_living_ix ON outside_peer (node_id, pid) WHERE gone_at IS NULL`,
      `CREATE TABLE outside_message (
        ord BIGSERIAL PRIMARY KEY,
        id BIGINT NOT NULL UNIQUE,
        to_peer TEXT NOT NULL REFERENCES outside_peer (id),
        from_id TEXT NOT NULL,
        text TEXT NOT NULL,
        sent_at BIGINT NOT NULL,
        polled_at BIGINT,
        delivered_at BIGINT)`,
      `CREATE INDEX outside_message_waiting_ix ON outside_message (to_peer, ord) WHERE delivered_at IS NULL`,
    ]);
  },
};
