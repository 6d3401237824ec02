import { sql } from 'kysely';

import { depths } from './dependency-graph.ts';
import type { Db } from './rows.ts';

/** Something in the ledger that cannot be, found by `checkLedger`. */
export interface LedgerFault {
  code:
    | 'task_counter'
    | 'job_counter'
    | 'held_mark'
    | 'doing_unheld'
    | 'claim_without_work'
    | 'delivery_without_work'
    | 'cycle'
    | 'open_task_in_ended_job'
    | 'open_job_in_ended_project'
    | 'job_not_ended';
  /** `task`, `job` or `project`. */
  subject: string;
  id: string;
  message: string;
}

/**
 * Looks for what must never be, in the whole ledger: wrong counters, a task that is doing though nobody and no pull
 * request holds it, claims on tasks that are over, cycles, levels that disagree. For `doctor --deep` and the fault tests;
 * reads everything, so not for a loop. An empty list is a sound ledger.
 */
export async function checkLedger(db: Db): Promise<LedgerFault[]> {
  const faults: LedgerFault[] = [];
  for (const { code, subject, message, query } of checks) {
    const { rows } = await sql.raw<{ id: string }>(query).execute(db);
    for (const { id } of rows) faults.push({ code, subject, id, message });
  }
  return [...faults, ...(await findCycles(db))];
}

const openLease = `EXISTS (SELECT 1 FROM lease l WHERE l.resource_type = 'task' AND l.slot = 'dispatcher'
  AND l.released_at IS NULL AND l.resource_id = t.id)`;
const openDelivery = `EXISTS (SELECT 1 FROM task_delivery d WHERE d.task_id = t.id AND d.ended_at IS NULL)`;
const over = `('done','cancelled')`;

const checks: readonly { code: LedgerFault['code']; subject: string; message: string; query: string }[] = [
  {
    code: 'task_counter',
    subject: 'task',
    message: 'its count of open blockers is not the number of its open blockers',
    query: `SELECT t.id FROM task t WHERE t.open_blockers <> (SELECT count(*) FROM task_dependency d
      JOIN task b ON b.id = d.blocker_task_id WHERE d.blocked_task_id = t.id
      AND NOT (b.status = 'done' OR (b.status = 'cancelled' AND d.on_cancel = 'unblock')))`,
  },
  {
    code: 'job_counter',
    subject: 'job',
    message: 'its count of open blockers is not the number of its open blockers',
    query: `SELECT j.id FROM job j WHERE j.open_blockers <> (SELECT count(*) FROM job_dependency d
      JOIN job b ON b.id = d.blocker_job_id WHERE d.blocked_job_id = j.id AND b.status NOT IN ${over})`,
  },
  {
    code: 'held_mark',
    subject: 'task',
    message: 'it is marked as held, or not, against the state of its job and project',
    query: `SELECT t.id FROM task t JOIN job j ON j.id = t.job_id JOIN project p ON p.id = t.project_id
      WHERE t.held <> CASE WHEN j.status IN ('discovery','dev','review') AND j.open_blockers = 0
      AND p.status IN ('planning','dev') THEN 0 ELSE 1 END`,
  },
  {
    code: 'doing_unheld',
    subject: 'task',
    message: 'it is doing, but neither a claim nor a pull request holds it',
    query: `SELECT t.id FROM task t WHERE t.status = 'doing' AND NOT ${openLease} AND NOT ${openDelivery}`,
  },
  {
    code: 'claim_without_work',
    subject: 'task',
    message: 'it is claimed, but neither doing nor paused',
    query: `SELECT t.id FROM task t WHERE t.status NOT IN ('doing','paused') AND ${openLease}`,
  },
  {
    code: 'delivery_without_work',
    subject: 'task',
    message: 'it waits for a pull request, but is not doing',
    query: `SELECT t.id FROM task t WHERE t.status <> 'doing' AND ${openDelivery}`,
  },
  {
    code: 'open_task_in_ended_job',
    subject: 'task',
    message: 'it is not over, but its job is',
    query: `SELECT t.id FROM task t JOIN job j ON j.id = t.job_id WHERE t.status NOT IN ${over} AND j.status IN ${over}`,
  },
  {
    code: 'open_job_in_ended_project',
    subject: 'job',
    message: 'it is not over, but its project is, or is in test',
    query: `SELECT j.id FROM job j JOIN project p ON p.id = j.project_id WHERE j.status NOT IN ${over}
      AND p.status IN ('test','done','cancelled')`,
  },
  {
    code: 'job_not_ended',
    subject: 'job',
    message: 'all its tasks are over and one is done, but it was neither ended nor sent to review',
    query: `SELECT j.id FROM job j WHERE j.status IN ('discovery','dev') AND j.ended_at IS NULL
      AND EXISTS (SELECT 1 FROM task t WHERE t.job_id = j.id AND t.status = 'done')
      AND NOT EXISTS (SELECT 1 FROM task t WHERE t.job_id = j.id AND t.status NOT IN ${over})
      AND NOT EXISTS (SELECT 1 FROM event e WHERE e.kind = 'job.reopened' AND e.subject_id = j.id)`,
  },
];

async function findCycles(db: Db): Promise<LedgerFault[]> {
  const faults: LedgerFault[] = [];
  const tasks = await db
    .selectFrom('task_dependency')
    .select(['blocked_task_id as a', 'blocker_task_id as b'])
    .execute();
  const jobs = await db.selectFrom('job_dependency').select(['blocked_job_id as a', 'blocker_job_id as b']).execute();
  for (const [subject, edges] of [
    ['task', tasks],
    ['job', jobs],
  ] as const) {
    const blockers = new Map<string, string[]>();
    for (const { a, b } of edges) {
      const list = blockers.get(a);
      if (list) list.push(b);
      else blockers.set(a, [b]);
    }
    const result = depths(blockers);
    if ('cycle' in result) {
      faults.push({ code: 'cycle', subject, id: result.cycle[0] ?? '', message: 'it waits for itself by a circle' });
    }
  }
  return faults;
}
