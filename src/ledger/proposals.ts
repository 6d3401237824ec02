import { sql } from 'kysely';

import { type Actor, forLog, mustOk, newId, ok, refuse, type Result } from '../kernel/index.ts';
import { openDecision, type Schema, settleDecision, type Tx } from '../store/index.ts';
import type { Db } from './rows.ts';

/** What a task asks for by name. */
interface Asking {
  id: string;
  path: string;
  skills: readonly string[];
  tools: readonly string[];
}

export type ProposalRow = Schema['proposal'];

/**
 * Attaches the skills and tools that tasks name. An unknown one is no error: it becomes a proposal and a decision for a
 * human, once for each name, and a warning (L-36, decision 44). Gives the warnings.
 */
export async function attachNames(
  tx: Tx,
  tasks: readonly Asking[],
  projectId: string,
  actor: Actor,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const kind of ['skill', 'tool'] as const) {
    const asking = tasks.flatMap((task) =>
      (kind === 'skill' ? task.skills : task.tools).map((name) => ({ task, name })),
    );
    if (asking.length === 0) continue;
    const known = await tx.db
      .selectFrom(kind)
      .select(['id', 'codename'])
      .where('codename', 'in', [...new Set(asking.map(({ name }) => name))])
      .where('active', '=', 1)
      .execute();
    const idOf = new Map(known.map((row) => [row.codename, row.id]));
    const unknown = new Map<string, string[]>();
    for (const { task, name } of asking) {
      const id = idOf.get(name);
      if (id) await attach(tx, kind, task.id, id);
      else unknown.set(name, [...(unknown.get(name) ?? []), task.id]);
      if (!id)
        warnings.push(`${task.path} asks for the ${kind} ${forLog(name, 80)}, which is unknown: it was proposed`);
    }
    for (const [name, taskIds] of unknown) await propose(tx, { kind, codename: name, taskIds, projectId, actor });
  }
  return warnings;
}

/** A human accepts a proposal: the skill or tool is added and attached to the tasks that asked, or rejects it. */
export async function settleProposal(
  tx: Tx,
  settlement: { proposalId: string; accept: boolean; reason?: string; actor: Actor },
): Promise<Result<ProposalRow>> {
  const { proposalId, accept, actor } = settlement;
  const row = await tx.db
    .updateTable('proposal')
    .set({
      status: accept ? 'accepted' : 'rejected',
      decided_by: actor.id,
      decided_at: tx.now,
      reason: settlement.reason ?? null,
    })
    .where('id', '=', proposalId)
    .where('status', '=', 'pending')
    .returningAll()
    .executeTakeFirst();
  if (!row) {
    const known = await tx.db.selectFrom('proposal').select('status').where('id', '=', proposalId).executeTakeFirst();
    if (!known) return refuse('not-found', 'unknown_proposal', `unknown proposal ${forLog(proposalId, 80)}`);
    return refuse('wrong-state', 'proposal_settled', `Proposal ${proposalId} is already ${known.status}.`, {
      proposal: proposalId,
      status: known.status,
    });
  }
  if (accept && row.kind !== 'agent') {
    const id = await addToCatalogue(tx, { kind: row.kind, codename: row.codename, description: '', actor });
    const asking = await tx.db
      .selectFrom('proposal_task')
      .select('task_id')
      .where('proposal_id', '=', row.id)
      .execute();
    for (const { task_id: taskId } of asking) await attach(tx, row.kind, taskId, id);
  }
  await tx.emit({
    kind: 'proposal.settled',
    actor,
    subject: { kind: 'proposal', id: row.id },
    facts: { kind: row.kind, status: row.status },
  });
  await settleItsDecision(tx, row.id, accept, actor);
  return ok(row);
}

async function settleItsDecision(tx: Tx, proposalId: string, accept: boolean, actor: Actor): Promise<void> {
  const decision = await tx.db
    .selectFrom('decision_request')
    .select('id')
    .where('dedupe_key', '=', `proposal:${proposalId}`)
    .where('state', '=', 'open')
    .executeTakeFirst();
  if (decision) mustOk(await settleDecision(tx, decision.id, { outcome: accept ? 'approved' : 'refused', actor }));
}

/** Adds a skill or a tool, or finds it; gives its id. A retired one becomes active again. */
export async function addToCatalogue(
  tx: Tx,
  entry: { kind: 'skill' | 'tool'; codename: string; description: string; actor: Actor },
): Promise<string> {
  const id = newId<string>();
  const row = await tx.db
    .insertInto(entry.kind)
    .values({ id, codename: entry.codename, description: entry.description, active: 1 })
    .onConflict((conflict) => conflict.column('codename').doUpdateSet({ active: 1 }))
    .returning('id')
    .executeTakeFirstOrThrow();
  if (row.id === id) {
    await tx.emit({
      kind: 'catalogue.added',
      actor: entry.actor,
      subject: { kind: entry.kind, id },
    });
  }
  return row.id;
}

/** All skills or tools, by name. */
export function listCatalogue(db: Db, kind: 'skill' | 'tool'): Promise<Schema['skill'][]> {
  return db.selectFrom(kind).selectAll().orderBy('codename').execute();
}

/** Proposals in a status (default pending), oldest first. */
export function listProposals(db: Db, status: ProposalRow['status'] = 'pending'): Promise<ProposalRow[]> {
  return db
    .selectFrom('proposal')
    .selectAll()
    .where('status', '=', status)
    .orderBy('created_at')
    .orderBy('id')
    .execute();
}

async function attach(tx: Tx, kind: 'skill' | 'tool', taskId: string, id: string): Promise<void> {
  if (kind === 'skill') {
    const insert = tx.db.insertInto('task_skill').values({ task_id: taskId, skill_id: id });
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  } else {
    const insert = tx.db.insertInto('task_tool').values({ task_id: taskId, tool_id: id });
    await insert.onConflict((conflict) => conflict.doNothing()).execute();
  }
}

async function propose(
  tx: Tx,
  proposal: { kind: 'skill' | 'tool'; codename: string; taskIds: readonly string[]; projectId: string; actor: Actor },
): Promise<void> {
  const { kind, codename, taskIds, projectId, actor } = proposal;
  const id = newId<string>();
  const row = await tx.db
    .insertInto('proposal')
    .values({
      id,
      kind,
      codename,
      task_id: taskIds[0] ?? null,
      status: 'pending',
      proposed_by: actor.id,
      decided_by: null,
      decided_at: null,
      reason: null,
      seen_count: 1,
      created_at: tx.now,
    })
    .onConflict((conflict) =>
      conflict
        .columns(['kind', 'codename'])
        // Literal, not a parameter: SQLite finds the partial index only so.
        .where(sql<boolean>`status = 'pending'`)
        .doUpdateSet((eb) => ({ seen_count: eb('proposal.seen_count', '+', 1) })),
    )
    .returning('id')
    .executeTakeFirstOrThrow();
  for (const taskId of taskIds) {
    await tx.db.insertInto('proposal_task').values({ proposal_id: row.id, task_id: taskId }).execute();
  }
  if (row.id === id) {
    await tx.emit({
      kind: 'proposal.opened',
      actor,
      subject: { kind: 'proposal', id },
      projectId,
      facts: { kind, tasks: taskIds.length },
    });
  }
  await openDecision(tx, {
    kind: 'proposal',
    subject: { kind: 'proposal', id: row.id },
    projectId,
    title: `The ${kind} ${codename} is asked for and unknown: accept or reject it`,
    detail: { proposal: row.id, kind, codename, task: taskIds[0] ?? null },
    actor,
  });
}
