import { forbid, type Migration, raise, run } from './migration.ts';

/** Events, effects, idempotency, leases, decisions, settings. Source: design section 5. */
export const core: Migration = {
  name: '0001-core',
  breaking: true,
  async up(db, dialect) {
    await run(db, dialect, [
      `CREATE TABLE event (
        ord BIGSERIAL PRIMARY KEY,
        seq BIGINT UNIQUE,
        id TEXT NOT NULL UNIQUE,
        at BIGINT NOT NULL,
        actor_kind TEXT NOT NULL,
        actor_id TEXT NOT NULL,
        kind TEXT NOT NULL,
        subject_kind TEXT NOT NULL,
        subject_id TEXT NOT NULL,
        project_id TEXT,
        session_id TEXT,
        cause TEXT,
        facts TEXT NOT NULL,
        prev_hash TEXT,
        hash TEXT,
        CHECK ((seq IS NULL) = (hash IS NULL)))`,
      `CREATE INDEX event_subject_ix ON event (subject_kind, subject_id, ord)`,
      `CREATE INDEX event_session_ix ON event (session_id, seq) WHERE session_id IS NOT NULL`,
      `CREATE INDEX event_unsequenced_ix ON event (ord) WHERE seq IS NULL`,
      `CREATE TABLE effect (
        id TEXT PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL,
        payload TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('pending','done','dead')),
        attempts BIGINT NOT NULL DEFAULT 0,
        not_before BIGINT NOT NULL,
        claimed_by TEXT,
        claimed_until BIGINT,
        last_error TEXT,
        created_at BIGINT NOT NULL,
        done_at BIGINT,
        CHECK ((claimed_by IS NULL) = (claimed_until IS NULL)),
        CHECK (state = 'pending' OR claimed_by IS NULL),
        CHECK ((state = 'done') = (done_at IS NOT NULL)))`,
      `CREATE INDEX effect_due_ix ON effect (kind, not_before) WHERE state = 'pending'`,
      `CREATE TABLE idempotency_key (
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        command TEXT NOT NULL,
        payload_hash TEXT NOT NULL,
        result TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        PRIMARY KEY (scope, key))`,
      `CREATE INDEX idempotency_expiry_ix ON idempotency_key (expires_at)`,
      `CREATE TABLE lease (
        id TEXT PRIMARY KEY,
        resource_type TEXT NOT NULL,
        resource_id TEXT NOT NULL,
        slot TEXT NOT NULL,
        holder TEXT NOT NULL,
        fence BIGINT NOT NULL,
        acquired_at BIGINT NOT NULL,
        last_activity_at BIGINT NOT NULL,
        ttl_ms BIGINT,
        released_at BIGINT,
        reason TEXT,
        UNIQUE (resource_type, resource_id, slot, fence))`,
      `CREATE UNIQUE INDEX lease_live_ux ON lease (resource_type, resource_id, slot) WHERE released_at IS NULL`,
      `CREATE TABLE decision_request (
        id TEXT PRIMARY KEY,
        kind TEXT NOT NULL,
        subject_kind TEXT NOT NULL,
        subject_id TEXT NOT NULL,
        project_id TEXT,
        session_id TEXT,
        dedupe_key TEXT NOT NULL,
        count BIGINT NOT NULL DEFAULT 1,
        title TEXT NOT NULL,
        detail TEXT NOT NULL,
        state TEXT NOT NULL CHECK (state IN ('open','settled','void')),
        outcome TEXT,
        outcome_detail TEXT,
        settled_by TEXT,
        created_at BIGINT NOT NULL,
        settled_at BIGINT,
        CHECK ((state = 'open') = (settled_at IS NULL)))`,
      `CREATE UNIQUE INDEX decision_open_ux ON decision_request (dedupe_key) WHERE state = 'open'`,
      `CREATE INDEX decision_state_ix ON decision_request (state, created_at)`,
      `CREATE TABLE setting (
        key TEXT PRIMARY KEY,
        value TEXT NOT NULL,
        updated_by TEXT NOT NULL,
        updated_at BIGINT NOT NULL)`,
    ]);
    await forbid(db, dialect, 'event', ['DELETE'], 'history_is_append_only');
    const touched = ['id', 'at', 'actor_kind', 'actor_id', 'kind', 'subject_kind', 'subject_id', 'project_id']
      .concat(['session_id', 'cause', 'facts', 'ord'])
      .map((column) => `NEW.${column} IS DISTINCT FROM OLD.${column}`);
    const sequencing = `OLD.seq IS NOT NULL OR ${touched.join(' OR ')}`;
    await forbid(db, dialect, 'event', ['UPDATE'], 'history_is_append_only', sequencing);
    // INSERT OR REPLACE removes the row in its way without asking a DELETE trigger.
    if (dialect === 'sqlite') {
      await raise(db, dialect, {
        name: 'event_no_replace',
        timing: 'BEFORE INSERT',
        table: 'event',
        message: 'history_is_append_only',
        when: 'EXISTS (SELECT 1 FROM event WHERE id = NEW.id OR seq = NEW.seq OR ord = NEW.ord)',
      });
    }
  },
};
