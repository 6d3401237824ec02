import type { Kysely } from 'kysely';

import { type Actor, newId } from '../../kernel/index.ts';
import type { Schema, Tx } from '../../store/index.ts';
import type { CheckReport, CheckResult } from './run-checks.ts';

/** Records the results of one run of checks; recorded again under the same key nothing is added. */
export async function recordCheckRun(
  tx: Tx,
  request: { repositoryId: string; key: string; report: CheckReport; actor: Actor },
): Promise<void> {
  const { report } = request;
  let added = 0;
  for (const [at, result] of report.results.entries()) {
    const row = await tx.db
      .insertInto('check_run')
      .values({
        id: newId<string>(),
        repository_id: request.repositoryId,
        run_key: request.key,
        ordinal: at,
        name: result.name,
        commit_id: report.commit,
        status: result.status,
        exit_code: result.exitCode,
        duration_ms: Math.round(result.durationMs),
        log_path: result.logPath ?? null,
        definition_digest: result.definitionDigest,
        ended_at: tx.now,
      })
      .onConflict((conflict) => conflict.columns(['run_key', 'ordinal']).doNothing())
      .returning('id')
      .executeTakeFirst();
    if (row) added += 1;
  }
  if (added === 0) return;
  const count = (status: CheckResult['status']): number =>
    report.results.filter((result) => result.status === status).length;
  const facts = {
    commit: report.commit,
    passed: count('passed'),
    failed: count('failed'),
    timedOut: count('timed-out'),
    skipped: count('skipped'),
  };
  await tx.emit({
    kind: 'checks.finished',
    actor: request.actor,
    subject: { kind: 'repository', id: request.repositoryId },
    facts,
  });
}

/** The recorded results of the newest run whose key is `<owner>.<anything>`; none = nothing was recorded. */
export async function lastChecksOf(db: Kysely<Schema>, owner: string): Promise<Omit<CheckResult, 'tail'>[]> {
  const last = await db
    .selectFrom('check_run')
    .select('run_key')
    .where('run_key', 'like', `${owner}.%`)
    .orderBy('ended_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1)
    .executeTakeFirst();
  return last ? checkRunsOf(db, last.run_key) : [];
}

/** The recorded results of one run, in order; without the tails, which lie in the logs. */
export async function checkRunsOf(db: Kysely<Schema>, key: string): Promise<Omit<CheckResult, 'tail'>[]> {
  const rows = await db.selectFrom('check_run').selectAll().where('run_key', '=', key).orderBy('ordinal').execute();
  return rows.map((row) => ({
    name: row.name,
    status: row.status,
    exitCode: row.exit_code === null ? null : Number(row.exit_code),
    durationMs: Number(row.duration_ms),
    logPath: row.log_path ?? undefined,
    definitionDigest: row.definition_digest,
  }));
}
