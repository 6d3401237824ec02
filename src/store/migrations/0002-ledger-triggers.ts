import { type Kysely, sql } from 'kysely';

import { forbid, raise, type StoreDialect } from './migration.ts';

/** 1 while a blocker in `status` still blocks the edge `d` (L-29; a held edge is not freed by cancelling, decision 34). */
const blocks = (status: string): string =>
  `(CASE WHEN ${status} = 'done' OR (${status} = 'cancelled' AND d.on_cancel = 'unblock') THEN 0 ELSE 1 END)`;

const terminal = (status: string): string => `${status} IN ('done','cancelled')`;

/** 1 while a task must not start because of its job `j` or project `p`. */
const held = `(CASE WHEN j.status IN ('discovery','dev','review') AND j.open_blockers = 0 AND p.status IN ('planning','dev') THEN 0 ELSE 1 END)`;

/**
 * What keeps the ledger right whoever writes to it, raw SQL included: no cycles, counters of open blockers, the start
 * guard, edges that are not updated. Source: "Reference schema" of the ledger part.
 */
export async function ledgerTriggers(db: Kysely<never>, dialect: StoreDialect): Promise<void> {
  await cycleGuard(db, dialect, {
    table: 'task_dependency',
    blocked: 'blocked_task_id',
    blocker: 'blocker_task_id',
    lock: 'job',
    lockId: 'job_id',
  });
  await cycleGuard(db, dialect, {
    table: 'job_dependency',
    blocked: 'blocked_job_id',
    blocker: 'blocker_job_id',
    lock: 'project',
    lockId: 'project_id',
  });
  await forbid(db, dialect, 'task_dependency', ['UPDATE'], 'dependency_not_updatable');
  await forbid(db, dialect, 'job_dependency', ['UPDATE'], 'dependency_not_updatable');
  await taskCounters(db, dialect);
  await jobCounters(db, dialect);
  await heldMarks(db, dialect);
  await startGuards(db, dialect);
  await scopeGuards(db, dialect);
  await companionGuards(db, dialect);
}

async function cycleGuard(
  db: Kysely<never>,
  dialect: StoreDialect,
  edge: { table: string; blocked: string; blocker: string; lock: string; lockId: string },
): Promise<void> {
  const { table, blocked, blocker, lock, lockId } = edge;
  const message = `${table}_cycle`;
  const closure = `WITH RECURSIVE up(id) AS (SELECT NEW.${blocker} UNION
    SELECT d.${blocker} FROM up CROSS JOIN ${table} d WHERE d.${blocked} = up.id)`;
  if (dialect === 'sqlite') {
    await raw(
      db,
      `CREATE TRIGGER ${table}_no_cycle BEFORE INSERT ON ${table} BEGIN
        SELECT RAISE(ABORT, '${message}') WHERE NEW.${blocked} IN (${closure} SELECT id FROM up); END`,
    );
    return;
  }
  // The lock comes first: two sessions under READ COMMITTED could otherwise close a cycle together.
  await raw(
    db,
    // Nothing above the blocker is the usual case. The settings keep a plan made for an empty table from reading all of it.
    `CREATE FUNCTION ${table}_no_cycle_fn() RETURNS trigger LANGUAGE plpgsql
      SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off AS $$ BEGIN
      PERFORM 1 FROM ${lock} WHERE id = NEW.${lockId} FOR UPDATE;
      IF NOT EXISTS (SELECT 1 FROM ${table} d WHERE d.${blocked} = NEW.${blocker}) THEN RETURN NEW; END IF;
      IF EXISTS (${closure} SELECT 1 FROM up WHERE id = NEW.${blocked})
      THEN RAISE EXCEPTION '${message}' USING ERRCODE = 'integrity_constraint_violation'; END IF;
      RETURN NEW; END $$`,
  );
  await raw(
    db,
    `CREATE TRIGGER ${table}_no_cycle BEFORE INSERT ON ${table} FOR EACH ROW EXECUTE FUNCTION ${table}_no_cycle_fn()`,
  );
}

async function taskCounters(db: Kysely<never>, dialect: StoreDialect): Promise<void> {
  const ofEdge = (
    row: 'NEW' | 'OLD',
    sign: '+' | '-',
  ): string => `UPDATE task SET open_blockers = open_blockers ${sign} 1
    WHERE id = ${row}.blocked_task_id AND EXISTS (SELECT 1 FROM task b WHERE b.id = ${row}.blocker_task_id
      AND NOT (b.status = 'done' OR (b.status = 'cancelled' AND ${row}.on_cancel = 'unblock')))`;
  await afterInsert(db, dialect, {
    name: 'task_dependency_count_insert',
    table: 'task_dependency',
    each: ofEdge('NEW', '+'),
    all: [
      `PERFORM 1 FROM task WHERE id IN (SELECT blocker_task_id FROM added) ORDER BY id FOR SHARE`,
      `UPDATE task SET open_blockers = open_blockers + n.more FROM (SELECT d.blocked_task_id AS id, count(*) AS more
        FROM added d JOIN task b ON b.id = d.blocker_task_id WHERE ${blocks('b.status')} = 1 GROUP BY 1) n
      WHERE task.id = n.id`,
    ],
  });
  await perform(db, dialect, {
    name: 'task_dependency_count_delete',
    timing: 'AFTER DELETE',
    table: 'task_dependency',
    body: [ofEdge('OLD', '-')],
  });
  await perform(db, dialect, {
    name: 'task_status_count',
    timing: 'AFTER UPDATE OF status',
    table: 'task',
    when: `(${terminal('OLD.status')}) <> (${terminal('NEW.status')}) OR (${terminal('OLD.status')} AND OLD.status <> NEW.status)`,
    body: [
      `UPDATE task SET open_blockers = open_blockers + (SELECT ${blocks('NEW.status')} - ${blocks('OLD.status')}
        FROM task_dependency d WHERE d.blocked_task_id = task.id AND d.blocker_task_id = NEW.id)
      WHERE id IN (SELECT blocked_task_id FROM task_dependency WHERE blocker_task_id = NEW.id)`,
    ],
  });
  // A hard delete removes the edges after the blocker's row, so their own trigger cannot see its status: counted here.
  await perform(db, dialect, {
    name: dialect === 'sqlite' ? 'task_delete_count' : '"A_task_delete_count"',
    timing: dialect === 'sqlite' ? 'BEFORE DELETE' : 'AFTER DELETE',
    table: 'task',
    body: [
      `UPDATE task SET open_blockers = open_blockers - 1 WHERE id IN (SELECT d.blocked_task_id FROM task_dependency d
        WHERE d.blocker_task_id = OLD.id AND ${blocks('OLD.status')} = 1)`,
    ],
  });
}

async function jobCounters(db: Kysely<never>, dialect: StoreDialect): Promise<void> {
  const ofEdge = (
    row: 'NEW' | 'OLD',
    sign: '+' | '-',
  ): string => `UPDATE job SET open_blockers = open_blockers ${sign} 1
    WHERE id = ${row}.blocked_job_id AND EXISTS (SELECT 1 FROM job b WHERE b.id = ${row}.blocker_job_id AND NOT (${terminal('b.status')}))`;
  const dependents = (row: 'NEW' | 'OLD'): string =>
    `id IN (SELECT blocked_job_id FROM job_dependency WHERE blocker_job_id = ${row}.id)`;
  await perform(db, dialect, {
    name: 'job_dependency_count_insert',
    timing: 'AFTER INSERT',
    table: 'job_dependency',
    body: [ofEdge('NEW', '+')],
    first: 'PERFORM 1 FROM job WHERE id = NEW.blocker_job_id FOR SHARE;',
  });
  await perform(db, dialect, {
    name: 'job_dependency_count_delete',
    timing: 'AFTER DELETE',
    table: 'job_dependency',
    body: [ofEdge('OLD', '-')],
  });
  await perform(db, dialect, {
    name: 'job_status_count',
    timing: 'AFTER UPDATE OF status',
    table: 'job',
    when: `(${terminal('OLD.status')}) <> (${terminal('NEW.status')})`,
    body: [
      `UPDATE job SET open_blockers = open_blockers + CASE WHEN ${terminal('NEW.status')} THEN -1 ELSE 1 END WHERE ${dependents('NEW')}`,
    ],
  });
  await perform(db, dialect, {
    name: dialect === 'sqlite' ? 'job_delete_count' : '"A_job_delete_count"',
    timing: dialect === 'sqlite' ? 'BEFORE DELETE' : 'AFTER DELETE',
    table: 'job',
    when: `OLD.status NOT IN ('done','cancelled')`,
    body: [`UPDATE job SET open_blockers = open_blockers - 1 WHERE ${dependents('OLD')}`],
  });
}

/** Keeps `task.held`, so that the ready list is one index and never a join. */
async function heldMarks(db: Kysely<never>, dialect: StoreDialect): Promise<void> {
  const mark = (where: string): string =>
    `UPDATE task SET held = 1 - held WHERE ${where} AND held <> (SELECT ${held} FROM job j JOIN project p ON p.id = j.project_id WHERE j.id = task.job_id)`;
  await afterInsert(db, dialect, {
    name: 'task_held_insert',
    table: 'task',
    each: mark('id = NEW.id'),
    all: [mark('id IN (SELECT id FROM added)')],
  });
  await perform(db, dialect, {
    name: 'task_held_job',
    timing: 'AFTER UPDATE OF status, open_blockers',
    table: 'job',
    when: 'NEW.status <> OLD.status OR NEW.open_blockers <> OLD.open_blockers',
    body: [mark('job_id = NEW.id')],
  });
  await perform(db, dialect, {
    name: 'task_held_project',
    timing: 'AFTER UPDATE OF status',
    table: 'project',
    when: 'NEW.status <> OLD.status',
    body: [mark('project_id = NEW.id')],
  });
}

async function startGuards(db: Kysely<never>, dialect: StoreDialect): Promise<void> {
  await raise(db, dialect, {
    name: 'task_insert_guard',
    timing: 'BEFORE INSERT',
    table: 'task',
    message: 'task_inserted_started',
    when: `NEW.status = 'doing' OR NEW.open_blockers <> 0`,
  });
  const starts = `NEW.status = 'doing' AND OLD.status <> 'doing'`;
  await raise(db, dialect, {
    name: 'task_start_guard',
    timing: 'BEFORE UPDATE OF status',
    table: 'task',
    message: 'task_blocked',
    when: `${starts} AND OLD.open_blockers > 0`,
  });
  await raise(db, dialect, {
    name: 'task_held_guard',
    timing: 'BEFORE UPDATE OF status',
    table: 'task',
    message: 'task_held',
    when: `${starts} AND OLD.held = 1`,
  });
  await raise(db, dialect, {
    name: 'job_start_guard',
    timing: 'BEFORE UPDATE OF status',
    table: 'job',
    message: 'job_blocked',
    when: `NEW.status = 'dev' AND OLD.status NOT IN ('dev','review') AND OLD.open_blockers > 0`,
  });
}

/** A scope that needs a client is refused without one (decision 17), at creation and at every later change. */
async function scopeGuards(db: Kysely<never>, dialect: StoreDialect): Promise<void> {
  const needsClient = `NEW.client_id IS NULL AND EXISTS (SELECT 1 FROM project_scope s WHERE s.codename = NEW.scope AND s.requires_client = 1)`;
  for (const timing of ['BEFORE INSERT', 'BEFORE UPDATE OF scope, client_id']) {
    await raise(db, dialect, {
      name: `project_client_${timing.includes('INSERT') ? 'insert' : 'update'}`,
      timing,
      table: 'project',
      message: 'client_required',
      when: needsClient,
    });
  }
}

async function companionGuards(db: Kysely<never>, dialect: StoreDialect): Promise<void> {
  const cycle = `NEW.resolves_job_id IS NOT NULL AND EXISTS (WITH RECURSIVE up(id) AS (SELECT NEW.resolves_job_id UNION
    SELECT j.resolves_job_id FROM up CROSS JOIN job j WHERE j.id = up.id AND j.resolves_job_id IS NOT NULL)
    SELECT 1 FROM up WHERE up.id = NEW.id)`;
  const elsewhere = `NEW.resolves_job_id IS NOT NULL AND EXISTS (SELECT 1 FROM job o WHERE o.id = NEW.resolves_job_id AND o.project_id <> NEW.project_id)`;
  for (const timing of ['BEFORE INSERT', 'BEFORE UPDATE OF resolves_job_id']) {
    const suffix = timing.includes('INSERT') ? 'insert' : 'update';
    await raise(db, dialect, {
      name: `job_companion_project_${suffix}`,
      timing,
      table: 'job',
      message: 'cross_project_resolution',
      when: elsewhere,
    });
    await raise(db, dialect, {
      name: `job_companion_cycle_${suffix}`,
      timing,
      table: 'job',
      message: 'resolution_cycle',
      when: cycle,
    });
  }
}

/**
 * Creates a trigger that follows inserts: `each` for one row on SQLite; on PostgreSQL `all`, once for a statement, over
 * the table `added`: an import of thousands of rows is one update there instead of thousands.
 */
async function afterInsert(
  db: Kysely<never>,
  dialect: StoreDialect,
  trigger: { name: string; table: string; each: string; all: readonly string[] },
): Promise<void> {
  const { name, table, each, all } = trigger;
  if (dialect === 'sqlite') {
    await raw(db, `CREATE TRIGGER ${name} AFTER INSERT ON ${table} BEGIN ${each}; END`);
    return;
  }
  await raw(
    db,
    `CREATE FUNCTION ${name}_fn() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${all.join('; ')}; RETURN NULL; END $$`,
  );
  await raw(
    db,
    `CREATE TRIGGER ${name} AFTER INSERT ON ${table} REFERENCING NEW TABLE AS added
      FOR EACH STATEMENT EXECUTE FUNCTION ${name}_fn()`,
  );
}

/** Creates a trigger that runs `body`; `first` is done before it on PostgreSQL only. */
async function perform(
  db: Kysely<never>,
  dialect: StoreDialect,
  trigger: { name: string; timing: string; table: string; when?: string; body: readonly string[]; first?: string },
): Promise<void> {
  const { name, timing, table, when, body, first } = trigger;
  const statements = body.map((statement) => `${statement};`).join(' ');
  const condition = when ? ` WHEN (${when})` : '';
  if (dialect === 'sqlite') {
    await raw(db, `CREATE TRIGGER ${name} ${timing} ON ${table}${condition} BEGIN ${statements} END`);
    return;
  }
  const fn = `${name.replaceAll('"', '').toLowerCase()}_fn`;
  await raw(
    db,
    `CREATE FUNCTION ${fn}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${first ?? ''} ${statements} RETURN NULL; END $$`,
  );
  await raw(db, `CREATE TRIGGER ${name} ${timing} ON ${table} FOR EACH ROW${condition} EXECUTE FUNCTION ${fn}()`);
}

async function raw(db: Kysely<never>, statement: string): Promise<void> {
  await sql.raw(statement).execute(db);
}
