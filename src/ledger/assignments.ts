import { type Actor, newId, ok, refuse, type Result, textFault } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import { findAgent } from './agents.ts';
import { type Db, lockProject } from './rows.ts';

export type AssignmentRow = Schema['assignment'];
export const assignmentRoles = ['production', 'lead_production', 'validation', 'lead_validation'] as const;

/**
 * Puts an agent on a project's team (L-17); again in the same role changes nothing. A current validation member means that
 * finished jobs go to QA. Warns when the agent both produces and validates (decision 15).
 */
export async function assignAgent(
  tx: Tx,
  assignment: { projectId: string; agent: string; role: AssignmentRow['role']; notes?: string; actor: Actor },
): Promise<Result<{ assignment: AssignmentRow; warnings: string[] }>> {
  const project = await lockProject(tx, assignment.projectId);
  if (!project.ok) return project;
  const agent = await findAgent(tx.db, assignment.agent);
  if (!agent.ok) return agent;
  const { codename } = agent.value;
  const notes = assignment.notes ?? '';
  const fault = textFault(notes, { max: 2000 });
  if (fault) return refuse('invalid', 'bad_text', `The notes on ${codename}: ${fault}.`);
  if (!agent.value.isActive) {
    return refuse('invalid', 'agent_inactive', `Agent ${codename} is retired; register it again first.`, {
      agent: agent.value.id,
    });
  }
  const live = await liveAssignments(tx.db, project.value.id);
  const same = live.find((row) => row.agent_id === agent.value.id && row.role === assignment.role);
  if (same) return ok({ assignment: same, warnings: [] });
  const lead = live.find((row) => row.role === assignment.role && row.role.startsWith('lead_'));
  if (lead) {
    return refuse(
      'duplicate',
      'lead_taken',
      `Project ${project.value.codename} has a ${assignment.role} already; unassign that one first.`,
      {
        agent: lead.agent_id,
      },
    );
  }
  const row: AssignmentRow = {
    id: newId(),
    project_id: project.value.id,
    agent_id: agent.value.id,
    role: assignment.role,
    position: live.length,
    assigned_at: tx.now,
    unassigned_at: null,
    notes,
  };
  await tx.db.insertInto('assignment').values(row).execute();
  await tx.emit({
    kind: 'assignment.started',
    actor: assignment.actor,
    subject: { kind: 'assignment', id: row.id },
    projectId: row.project_id,
    facts: { agent: row.agent_id, role: row.role },
  });
  const side = (role: AssignmentRow['role']): string => (role.endsWith('validation') ? 'validation' : 'production');
  const both = live.some((other) => other.agent_id === row.agent_id && side(other.role) !== side(row.role));
  return ok({ assignment: row, warnings: both ? [`${codename} both produces and validates in this project`] : [] });
}

/** Takes an agent off the team; nothing happens when it is not on it. */
export async function unassignAgent(
  tx: Tx,
  assignment: { projectId: string; agent: string; role: AssignmentRow['role']; actor: Actor },
): Promise<Result<{ ended: boolean }>> {
  const agent = await findAgent(tx.db, assignment.agent);
  if (!agent.ok) return agent;
  const row = await tx.db
    .updateTable('assignment')
    .set({ unassigned_at: tx.now })
    .where('project_id', '=', assignment.projectId)
    .where('agent_id', '=', agent.value.id)
    .where('role', '=', assignment.role)
    .where('unassigned_at', 'is', null)
    .returningAll()
    .executeTakeFirst();
  if (!row) return ok({ ended: false });
  await tx.emit({
    kind: 'assignment.ended',
    actor: assignment.actor,
    subject: { kind: 'assignment', id: row.id },
    projectId: row.project_id,
    facts: { agent: row.agent_id, role: row.role },
  });
  return ok({ ended: true });
}

/** The team of a project as it is now. */
export function liveAssignments(db: Db, projectId: string): Promise<AssignmentRow[]> {
  return db
    .selectFrom('assignment')
    .selectAll()
    .where('project_id', '=', projectId)
    .where('unassigned_at', 'is', null)
    .orderBy('position')
    .orderBy('id')
    .execute();
}
