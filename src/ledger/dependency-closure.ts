import { sql } from 'kysely';

import type { Db } from './rows.ts';

/** The edges above (`blockers`) or below (`dependents`) some tasks; each task is visited once, however many ways lead to it. */
export async function closure(
  db: Db,
  taskIds: readonly string[],
  side: 'blockers' | 'dependents',
): Promise<Map<string, string[]>> {
  const edges = new Map<string, string[]>();
  if (taskIds.length === 0) return edges;
  const [near, far] =
    side === 'blockers'
      ? [sql.ref('d.blocked_task_id'), sql.ref('d.blocker_task_id')]
      : [sql.ref('d.blocker_task_id'), sql.ref('d.blocked_task_id')];
  // CROSS JOIN keeps SQLite from reading every edge of the store to find the few that are reached.
  const { rows } = await sql<{ near: string; far: string }>`
    with recursive reached(id) as (
      select id from task where id in (${sql.join([...taskIds])}) union
      select ${far} from reached cross join task_dependency d where ${near} = reached.id)
    select ${near} as near, ${far} as far from reached cross join task_dependency d where ${near} = reached.id`.execute(
    db,
  );
  for (const row of rows) {
    const list = edges.get(row.near);
    if (list) list.push(row.far);
    else edges.set(row.near, [row.far]);
  }
  return edges;
}
