import { type Migration, run } from './migration.ts';

/**
 * What a session used stands in `usage_entry` alone (sessions decision 7). Totals that were counted before there were entries, or
 * beyond them, become an entry of their own; what is left of `session_usage` is how full the agent's context is.
 */
export const oneBill: Migration = {
  name: '0017-one-bill',
  breaking: true,
  async up(db, dialect) {
    const day =
      dialect === 'sqlite'
        ? `strftime('%Y-%m-%d', u.updated_at / 1000, 'unixepoch')`
        : `to_char(to_timestamp(u.updated_at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')`;
    const beyond = (column: string): string => `CASE WHEN u.${column} > COALESCE(e.${column}, 0)
      THEN u.${column} - COALESCE(e.${column}, 0) ELSE 0 END`;
    const sums = columns.map((column) => `SUM(${column}) AS ${column}`).join(', ');
    await run(db, dialect, [
      `INSERT INTO usage_entry (session_id, generation, turn_id, day, project_id, task_id, pull_request_id, agent, kind,
        ${columns.join(', ')}, cost_source, created_at, updated_at)
      SELECT u.session_id, s.generation, 'before-entries', ${day}, s.project_id, s.task_id, s.pull_request_id, s.agent,
        s.role || ':before-entries', ${columns.map(beyond).join(', ')},
        CASE WHEN u.cost_micros > COALESCE(e.cost_micros, 0) THEN 'reported' ELSE 'unknown' END, u.updated_at, u.updated_at
      FROM session_usage u JOIN session s ON s.id = u.session_id
        LEFT JOIN (SELECT session_id, ${sums} FROM usage_entry GROUP BY session_id) e ON e.session_id = u.session_id
      WHERE ${columns.map((column) => `u.${column} > COALESCE(e.${column}, 0)`).join(' OR ')}`,
      ...columns.map((column) => `ALTER TABLE session_usage DROP COLUMN ${column}`),
      `ALTER TABLE session_usage RENAME TO session_context`,
    ]);
  },
};

const columns = ['input_tokens', 'output_tokens', 'cached_tokens', 'cost_micros'] as const;
