import { checkLedger } from '../../ledger/index.ts';
import type { AppContext } from '../context.ts';

/**
 * What must never be, whatever died when: a question without a decision, a decision without its subject, a task that is
 * worked on by nobody, two sessions on one work key (design section 10 "Faults"). One sentence for each fault.
 */
export async function findInvariantFaults(ctx: AppContext): Promise<string[]> {
  const db = ctx.store.read;
  const faults: string[] = [];
  const questions = await db
    .selectFrom('escalation')
    .innerJoin('session', 'session.id', 'escalation.session_id')
    .leftJoin('decision_request', (join) =>
      join.onRef('decision_request.subject_id', '=', 'escalation.id').on('decision_request.state', '=', 'open'),
    )
    .select(['escalation.id', 'session.state', 'decision_request.id as decision'])
    .where('escalation.status', '=', 'OPEN')
    .execute();
  for (const { id, state, decision } of questions) {
    if (decision === null) faults.push(`question ${id} is open and no decision asks for its answer`);
    if (['DONE', 'ABORTED', 'CRASHED', 'START_FAILED'].includes(state))
      faults.push(`question ${id} is open and its session is ${state}`);
  }
  const orphans = await db
    .selectFrom('decision_request')
    .leftJoin('escalation', 'escalation.id', 'decision_request.subject_id')
    .select(['decision_request.id', 'escalation.status'])
    .where('decision_request.kind', '=', 'escalation_answer')
    .where('decision_request.subject_kind', '!=', 'watched-request')
    .where('decision_request.state', '=', 'open')
    .execute();
  for (const { id, status } of orphans)
    if (status !== 'OPEN') faults.push(`decision ${id} asks for the answer of a question that is ${status ?? 'gone'}`);
  const watched = await db
    .selectFrom('decision_request')
    .leftJoin('watched_request', 'watched_request.id', 'decision_request.subject_id')
    .select(['decision_request.id', 'watched_request.state'])
    .where('decision_request.subject_kind', '=', 'watched-request')
    .where('decision_request.state', '=', 'open')
    .execute();
  for (const { id, state } of watched)
    if (state !== 'open')
      faults.push(`decision ${id} asks for the answer of a watched request that is ${state ?? 'gone'}`);
  faults.push(...(await checkLedger(db)).map(String));
  const doubles = await db
    .selectFrom('session')
    .select(['work_key', (eb) => eb.fn.countAll().as('count')])
    .where('ended_at', 'is', null)
    .groupBy('work_key')
    .having((eb) => eb.fn.countAll(), '>', 1)
    .execute();
  for (const { work_key: key, count } of doubles) faults.push(`work key ${key} has ${Number(count)} living sessions`);
  return faults;
}
