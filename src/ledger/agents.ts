import {
  type Actor,
  canonicalJson,
  idFault,
  newId,
  ok,
  refuse,
  type Refused,
  type Result,
  textFault,
} from '../kernel/index.ts';
import type { Tx } from '../store/index.ts';
import { isCodename, maxText } from './fields.ts';
import { type AgentRow, type Db, unknownItem } from './rows.ts';

/** Topic woken with an agent's id when the registry changed. */
export const agentsTopic = 'agents';

/** What an agent may be used for. */
export const agentRoles = ['author', 'reviewer', 'qa', 'coordinator'] as const;
export type AgentRole = (typeof agentRoles)[number];
export const agentDrivers = ['acp', 'claude', 'codex', 'command'] as const;
export type AgentDriver = (typeof agentDrivers)[number];

/** An entry of the registry as used (L-18). */
export interface Agent {
  id: string;
  codename: string;
  nickname: string | null;
  roles: AgentRole[];
  group: string | null;
  /** Model family; a reviewer is of another one than the author. */
  family: string;
  driver: AgentDriver;
  /** Argv; the first word is an absolute path once registered on this machine. */
  command: string[];
  /** Runs at a terminal; drivers other than `command` do not. */
  tty: boolean;
  account: string | null;
  envNames: string[];
  defaultModel: string | null;
  prompt: string;
  isActive: boolean;
  source: AgentRow['source'];
  version: number;
}

/** What registering takes; what is left out keeps its value, or is empty for a new agent. */
export interface AgentEntry {
  codename: string;
  nickname?: string | null;
  roles?: readonly AgentRole[];
  group?: string | null;
  family?: string;
  driver?: AgentDriver;
  command?: readonly string[];
  tty?: boolean;
  account?: string | null;
  envNames?: readonly string[];
  defaultModel?: string | null;
  prompt?: string;
}

/**
 * Adds an agent, or changes the one with that codename and makes it active again; the same entry twice changes nothing.
 * Changing agents needs proof, which is asked at the edge (design section 4).
 */
export async function registerAgent(
  tx: Tx,
  entry: AgentEntry,
  by: { actor: Actor; source: AgentRow['source'] },
): Promise<Result<{ agent: Agent; change: 'added' | 'changed' | 'none' }>> {
  const known = await tx.db.selectFrom('agent').selectAll().where('codename', '=', entry.codename).executeTakeFirst();
  const wanted = wantedRow(entry, known);
  const refusal = entryRefusal(entry.codename, wanted);
  if (refusal) return refusal;
  if (!known) {
    const row: AgentRow = {
      ...wanted,
      id: newId(),
      codename: entry.codename,
      active: 1,
      source: by.source,
      version: 1,
      created_at: tx.now,
      updated_at: tx.now,
      retired_at: null,
    };
    await tx.db.insertInto('agent').values(row).execute();
    await tx.emit({
      kind: 'agent.registered',
      actor: by.actor,
      subject: { kind: 'agent', id: row.id },
      facts: { driver: row.driver, source: row.source },
    });
    tx.wake(agentsTopic, row.id);
    return ok({ agent: agentOf(row), change: 'added' });
  }
  const fields = (Object.keys(wanted) as (keyof typeof wanted)[]).filter((key) => wanted[key] !== known[key]);
  if (fields.length === 0 && known.active === 1) return ok({ agent: agentOf(known), change: 'none' });
  const row = await tx.db
    .updateTable('agent')
    .set((eb) => ({
      ...wanted,
      active: 1,
      retired_at: null,
      source: by.source,
      version: eb('version', '+', 1),
      updated_at: tx.now,
    }))
    .where('id', '=', known.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx.emit({
    kind: 'agent.updated',
    actor: by.actor,
    subject: { kind: 'agent', id: row.id },
    facts: { fields: known.active === 1 ? fields : [...fields, 'active'], version: row.version },
  });
  tx.wake(agentsTopic, row.id);
  return ok({ agent: agentOf(row), change: 'changed' });
}

/** Makes an agent inactive: it gets no new work; its history stays. Nothing happens when it is retired already. */
export async function retireAgent(tx: Tx, ref: string, actor: Actor): Promise<Result<Agent>> {
  const found = await findAgent(tx.db, ref);
  if (!found.ok || !found.value.isActive) return found;
  const row = await tx.db
    .updateTable('agent')
    .set((eb) => ({ active: 0, retired_at: tx.now, version: eb('version', '+', 1), updated_at: tx.now }))
    .where('id', '=', found.value.id)
    .returningAll()
    .executeTakeFirstOrThrow();
  await tx.emit({ kind: 'agent.retired', actor, subject: { kind: 'agent', id: row.id } });
  tx.wake(agentsTopic, row.id);
  return ok(agentOf(row));
}

/** Finds an agent by id or codename, active or not. */
export async function findAgent(db: Db, ref: string): Promise<Result<Agent>> {
  const row = await db
    .selectFrom('agent')
    .selectAll()
    .where((eb) => eb.or([eb('id', '=', ref), eb('codename', '=', ref)]))
    .executeTakeFirst();
  return row ? ok(agentOf(row)) : unknownItem('agent', ref);
}

/** Agents by codename; `role` keeps those that may be used so. */
export async function listAgents(db: Db, filter: { role?: AgentRole; activeOnly?: boolean } = {}): Promise<Agent[]> {
  let query = db.selectFrom('agent').selectAll().orderBy('codename');
  if (filter.activeOnly) query = query.where('active', '=', 1);
  const agents = (await query.execute()).map(agentOf);
  return filter.role ? agents.filter((agent) => agent.roles.includes(filter.role as AgentRole)) : agents;
}

type Changeable = Pick<
  AgentRow,
  | 'nickname'
  | 'roles'
  | 'agent_group'
  | 'family'
  | 'driver'
  | 'command'
  | 'tty'
  | 'account'
  | 'env_names'
  | 'default_model'
  | 'prompt'
>;

function wantedRow(entry: AgentEntry, known: AgentRow | undefined): Changeable {
  const keep = <T>(given: T | undefined, before: T | undefined, blank: T): T => given ?? before ?? blank;
  const orNull = (given: string | null | undefined, before: string | null | undefined): string | null =>
    given === undefined ? (before ?? null) : given;
  return {
    nickname: orNull(entry.nickname, known?.nickname),
    roles: entry.roles ? canonicalJson([...entry.roles]) : keep(undefined, known?.roles, '["author"]'),
    agent_group: orNull(entry.group, known?.agent_group),
    family: keep(entry.family, known?.family, ''),
    driver: keep(entry.driver, known?.driver, 'acp'),
    command: entry.command ? canonicalJson([...entry.command]) : keep(undefined, known?.command, '[]'),
    tty: keep(entry.tty === undefined ? undefined : Number(entry.tty), known?.tty, 0),
    account: orNull(entry.account, known?.account),
    env_names: entry.envNames ? canonicalJson([...entry.envNames]) : keep(undefined, known?.env_names, '[]'),
    default_model: orNull(entry.defaultModel, known?.default_model),
    prompt: keep(entry.prompt, known?.prompt, ''),
  };
}

function entryRefusal(codename: string, row: Changeable): Refused | undefined {
  const faults: string[] = [];
  if (!isCodename(codename)) faults.push('the codename must be 4 to 64 of a-z, 0-9 and -');
  const family = idFault(row.family, 64);
  if (family) faults.push(`the family ${family}`);
  if (!agentDrivers.includes(row.driver)) faults.push(`the driver must be one of ${agentDrivers.join(', ')}`);
  const roles = JSON.parse(row.roles) as string[];
  if (roles.length === 0 || !roles.every((role) => (agentRoles as readonly string[]).includes(role)))
    faults.push(`the roles must be some of ${agentRoles.join(', ')}`);
  const command = JSON.parse(row.command) as unknown[];
  const isArgv = command.every((word) => typeof word === 'string' && !word.includes('\0'));
  if (command.length === 0 || command[0] === '' || !isArgv) faults.push('the command must be a list of words');
  if (row.tty === 1 && row.driver !== 'command') faults.push('only the driver command runs a program at a terminal');
  const names = JSON.parse(row.env_names) as string[];
  if (!names.every((name) => /^[A-Za-z_][A-Za-z0-9_]*$/.test(name)))
    faults.push('the environment names must be names, without values');
  const prompt = textFault(row.prompt, { max: maxText });
  if (prompt) faults.push(`the prompt ${prompt}`);
  const nickname = row.nickname === null ? undefined : textFault(row.nickname, { max: 100 });
  if (nickname) faults.push(`the nickname ${nickname}`);
  if (faults.length === 0) return undefined;
  return refuse('invalid', 'bad_agent', `Agent ${codename.slice(0, 64)} was not registered: ${faults.join('; ')}.`, {
    faults,
  });
}

function agentOf(row: AgentRow): Agent {
  return {
    id: row.id,
    codename: row.codename,
    nickname: row.nickname,
    roles: JSON.parse(row.roles) as AgentRole[],
    group: row.agent_group,
    family: row.family,
    driver: row.driver,
    command: JSON.parse(row.command) as string[],
    tty: row.tty === 1,
    account: row.account,
    envNames: JSON.parse(row.env_names) as string[],
    defaultModel: row.default_model,
    prompt: row.prompt,
    isActive: row.active === 1,
    source: row.source,
    version: row.version,
  };
}
