import type { InputFault } from './read-fields.ts';
import type { Db } from './rows.ts';

/**
 * What the scopes of a project and its tasks ask for: a client, and a number of distinct assignees (L-33g; decisions 16
 * to 18: read from the scope's row, the strictest of project and task scopes counts).
 */
export async function staffingFaults(
  db: Db,
  staffing: {
    projectScope: string | null;
    taskScopes: readonly string[];
    clientId: string | null;
    /** Distinct agents that tasks are assigned to. */
    agents: ReadonlySet<string>;
  },
): Promise<InputFault[]> {
  const faults: InputFault[] = [];
  const scope = staffing.projectScope
    ? await db.selectFrom('project_scope').selectAll().where('codename', '=', staffing.projectScope).executeTakeFirst()
    : undefined;
  if (scope?.requires_client === 1 && staffing.clientId === null) {
    faults.push({
      path: 'client',
      code: 'client_required',
      message: `is missing: the scope ${scope.codename} needs one`,
    });
  }
  const taskScopes = [...new Set(staffing.taskScopes)];
  const ofTasks =
    taskScopes.length > 0
      ? await db.selectFrom('task_scope').selectAll().where('codename', 'in', taskScopes).execute()
      : [];
  const strictest = [...(scope ? [scope] : []), ...ofTasks].toSorted((a, b) => b.min_agents - a.min_agents)[0];
  if (strictest && strictest.min_agents > 1 && staffing.agents.size < strictest.min_agents) {
    faults.push({
      path: 'scope',
      code: 'too_few_agents',
      message: `${strictest.codename} needs at least ${strictest.min_agents} distinct assignees, ${staffing.agents.size} given`,
    });
  }
  return faults;
}

/** The distinct assignees and scopes of a project's tasks that are not cancelled. */
export async function staffingOf(db: Db, projectId: string): Promise<{ agents: Set<string>; taskScopes: string[] }> {
  const rows = await db
    .selectFrom('task')
    .select(['assignee_id', 'scope'])
    .distinct()
    .where('project_id', '=', projectId)
    .where('status', '<>', 'cancelled')
    .execute();
  return {
    agents: new Set(rows.flatMap((row) => (row.assignee_id ? [row.assignee_id] : []))),
    taskScopes: [...new Set(rows.flatMap((row) => (row.scope ? [row.scope] : [])))],
  };
}
