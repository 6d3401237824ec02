import { forbid, type Migration, raise, run } from './migration.ts';

/** Capabilities, their lineages, calls and single-use approvals. Source: gate part, G-1 to G-30. */
export const gate: Migration = {
  name: '0004-gate',
  breaking: true,
  async up(db, dialect) {
    await run(db, dialect, [
      `CREATE TABLE capability (
        id TEXT PRIMARY KEY,
        type TEXT NOT NULL CHECK (type IN ('mcp_tool','tool','command','http_operation','workflow','script','hook')),
        name TEXT NOT NULL,
        server TEXT NOT NULL,
        server_label TEXT NOT NULL,
        version TEXT NOT NULL,
        definition_hash TEXT NOT NULL,
        definition TEXT,
        risk_tier TEXT NOT NULL CHECK (risk_tier IN ('reversible','privileged')),
        status TEXT NOT NULL CHECK (status IN ('provisional','approved','refused','blocked')),
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        exec_count BIGINT NOT NULL DEFAULT 0 CHECK (exec_count >= 0),
        refused_count BIGINT NOT NULL DEFAULT 0 CHECK (refused_count >= 0),
        commit_link TEXT,
        doc_link TEXT,
        decided_by TEXT,
        decided_at BIGINT,
        decision_note TEXT,
        first_exec_alerted_at BIGINT,
        reminder_sent_at BIGINT,
        UNIQUE (type, server, name, version),
        CHECK (risk_tier = 'reversible' OR expires_at IS NULL),
        CHECK (status <> 'provisional' OR expires_at IS NOT NULL),
        CHECK (status <> 'approved' OR (expires_at IS NULL AND decided_by IS NOT NULL)))`,
      `CREATE INDEX capability_status_ix ON capability (status, expires_at)`,
      `CREATE TABLE capability_lineage (
        type TEXT NOT NULL,
        server TEXT NOT NULL,
        name TEXT NOT NULL,
        grace_ends_at BIGINT NOT NULL,
        PRIMARY KEY (type, server, name))`,
      `CREATE TABLE gate_clock (
        id BIGINT PRIMARY KEY CHECK (id = 1),
        high_water BIGINT NOT NULL)`,
      `INSERT INTO gate_clock (id, high_water) VALUES (1, 0)`,
      `CREATE TABLE gate_call (
        id TEXT PRIMARY KEY,
        session_id TEXT NOT NULL,
        generation BIGINT NOT NULL,
        request_id TEXT,
        agent TEXT NOT NULL,
        role TEXT NOT NULL,
        project_id TEXT,
        tool_kind TEXT NOT NULL,
        tool_name TEXT NOT NULL,
        server TEXT NOT NULL,
        capability_id TEXT REFERENCES capability (id),
        capability_ids TEXT NOT NULL,
        binding_digest TEXT NOT NULL,
        arguments_digest TEXT NOT NULL,
        policy_version TEXT NOT NULL,
        state TEXT NOT NULL
          CHECK (state IN ('allowed','refused','waiting','approved','spent','denied','expired','void')),
        reason TEXT NOT NULL,
        can_stand SMALLINT NOT NULL DEFAULT 0,
        decision_id TEXT,
        count BIGINT NOT NULL DEFAULT 1,
        created_at BIGINT NOT NULL,
        expires_at BIGINT,
        decided_by TEXT,
        decided_at BIGINT,
        spent_at BIGINT,
        outcome TEXT CHECK (outcome IN ('ok','error','timeout','unknown')),
        outcome_at BIGINT,
        CHECK ((state = 'spent') = (spent_at IS NOT NULL)),
        CHECK (state <> 'approved' OR (expires_at IS NOT NULL AND decided_by IS NOT NULL)),
        CHECK (outcome IS NULL OR state IN ('allowed','spent')))`,
      `CREATE UNIQUE INDEX gate_call_request_ux ON gate_call (session_id, generation, request_id)
        WHERE request_id IS NOT NULL`,
      `CREATE UNIQUE INDEX gate_call_open_ux ON gate_call (binding_digest) WHERE state IN ('waiting','approved')`,
      `CREATE INDEX gate_call_session_ix ON gate_call (session_id, created_at)`,
      `CREATE INDEX gate_call_capability_ix ON gate_call (capability_id, created_at)`,
      `CREATE TABLE gate_call_content (
        call_id TEXT PRIMARY KEY REFERENCES gate_call (id),
        preview TEXT NOT NULL,
        arguments TEXT,
        created_at BIGINT NOT NULL)`,
    ]);
    await forbid(db, dialect, 'capability', ['DELETE'], 'capabilities_are_kept');
    await raise(db, dialect, {
      name: 'capability_no_second_grace',
      timing: 'BEFORE UPDATE',
      table: 'capability',
      message: 'grace_is_given_once',
      when: `NEW.status = 'provisional' AND (OLD.status <> 'provisional' OR NEW.expires_at > OLD.expires_at)`,
    });
    await raise(db, dialect, {
      name: 'capability_identity_fixed',
      timing: 'BEFORE UPDATE',
      table: 'capability',
      message: 'a_new_definition_is_a_new_capability',
      when: ['type', 'server', 'name', 'version', 'definition_hash']
        .map((column) => `NEW.${column} <> OLD.${column}`)
        .join(' OR '),
    });
    await raise(db, dialect, {
      name: 'gate_call_binding_fixed',
      timing: 'BEFORE UPDATE',
      table: 'gate_call',
      message: 'a_yes_binds_to_one_call',
      when: `NEW.binding_digest <> OLD.binding_digest OR NEW.arguments_digest <> OLD.arguments_digest OR (OLD.state = 'spent' AND NEW.state <> 'spent')`,
    });
  },
};
