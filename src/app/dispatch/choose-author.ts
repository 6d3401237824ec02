import type { Schema } from '../../store/index.ts';
import type { Db } from './db.ts';
import { isLimited } from './use-account.ts';

/**
 * The agent for a task: its assignee, else the active author agent that works on the fewest things now and was used longest
 * ago; one whose account is limited only when all are (design section 7). `undefined` when there is none; the task then waits.
 */
export async function chooseAuthor(
  db: Db,
  task: Pick<Schema['task'], 'assignee_id'>,
  now: number,
): Promise<Schema['agent'] | undefined> {
  if (task.assignee_id) {
    return db
      .selectFrom('agent')
      .selectAll()
      .where('id', '=', task.assignee_id)
      .where('active', '=', 1)
      .executeTakeFirst();
  }
  const agents = await db.selectFrom('agent').selectAll().where('active', '=', 1).orderBy('created_at').execute();
  const all = agents.filter((agent) => (JSON.parse(agent.roles) as string[]).includes('author'));
  const open: typeof all = [];
  for (const agent of all) if (!(await isLimited(db, agent, now))) open.push(agent);
  const authors = open.length > 0 ? open : all;
  if (authors.length <= 1) return authors[0];
  const uses = await db
    .selectFrom('session')
    .select((eb) => [
      'agent',
      eb.fn.max('created_at').as('last'),
      eb.fn.sum(eb.case().when('ended_at', 'is', null).then(1).else(0).end()).as('living'),
    ])
    .groupBy('agent')
    .execute();
  const useOf = (codename: string) => uses.find((use) => use.agent === codename);
  return authors.toSorted((a, b) => {
    const [left, right] = [useOf(a.codename), useOf(b.codename)];
    return Number(left?.living ?? 0) - Number(right?.living ?? 0) || Number(left?.last ?? 0) - Number(right?.last ?? 0);
  })[0];
}
