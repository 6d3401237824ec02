import { type Actor, idFault, ok, refuse, type Result } from '../kernel/index.ts';
import type { Schema, Tx } from '../store/index.ts';
import type { Db } from './rows.ts';

/** One scope of a preset. */
export interface ScopeEntry {
  codename: string;
  requiresClient?: boolean;
  /** Fewest distinct assignees; default 1. */
  minAgents?: number;
}

/** The scopes of an install: one list for projects, one for tasks (decision 18). */
export interface ScopePreset {
  project: readonly ScopeEntry[];
  task: readonly ScopeEntry[];
}

const plain = (codenames: string): ScopeEntry[] => codenames.split(' ').map((codename) => ({ codename }));

/** What a new database begins with. */
export const neutralScopes: ScopePreset = {
  project: [
    ...plain('internal open-source enterprise'),
    { codename: 'client', requiresClient: true, minAgents: 2 },
    ...plain('business legal negotiation advice'),
  ],
  task: [
    ...plain('internal open-source enterprise'),
    { codename: 'client-single', minAgents: 2 },
    { codename: 'client-multi', minAgents: 2 },
    ...plain('infra doctrine'),
  ],
};

/** The lists of the seed system (L-9, L-10), for those who move from it. */
export const seedScopes: ScopePreset = {
  project: [
    ...plain('synedre codemyshop-oss codemyshop-enterprise'),
    { codename: 'tenant', requiresClient: true, minAgents: 2 },
    ...plain('business juridique negociation conseil'),
  ],
  task: [
    ...plain('synedre-internal codemyshop-oss codemyshop-enterprise'),
    { codename: 'tenant-single', minAgents: 2 },
    { codename: 'tenant-multi', minAgents: 2 },
    ...plain('infra doctrine'),
  ],
};

/**
 * Makes `preset` the lists of this install: scopes that are not in it are switched off (rows that use them keep them),
 * those in it are added or changed. Refuses bad names.
 */
export async function installScopes(tx: Tx, preset: ScopePreset, actor: Actor): Promise<Result<undefined>> {
  for (const [table, entries] of [
    ['project_scope', preset.project],
    ['task_scope', preset.task],
  ] as const) {
    for (const entry of entries) {
      const fault = idFault(entry.codename, 64);
      const minAgents = entry.minAgents ?? 1;
      if (fault || !Number.isInteger(minAgents) || minAgents < 1) {
        return refuse(
          'invalid',
          'bad_scope',
          `A scope ${fault ?? 'needs at least one agent'}; the lists were not changed.`,
        );
      }
    }
    await tx.db.updateTable(table).set({ active: 0 }).execute();
    for (const entry of entries) {
      const flags = { requires_client: entry.requiresClient ? 1 : 0, min_agents: entry.minAgents ?? 1, active: 1 };
      await tx.db
        .insertInto(table)
        .values({ codename: entry.codename, ...flags })
        .onConflict((conflict) => conflict.column('codename').doUpdateSet(flags))
        .execute();
    }
  }
  await tx.emit({
    kind: 'scopes.installed',
    actor,
    subject: { kind: 'scopes', id: 'install' },
    facts: { project: preset.project.length, task: preset.task.length },
  });
  return ok();
}

/** The active scopes, by codename. */
export async function listScopes(
  db: Db,
): Promise<{ project: Schema['project_scope'][]; task: Schema['task_scope'][] }> {
  const read = (table: 'project_scope' | 'task_scope'): Promise<Schema['project_scope'][]> =>
    db.selectFrom(table).selectAll().where('active', '=', 1).orderBy('codename').execute();
  return { project: await read('project_scope'), task: await read('task_scope') };
}
