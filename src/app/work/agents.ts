import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, isAbsolute, join } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import { findAgent, listAgents, registerAgent } from '../../ledger/index.ts';
import { environmentNameFault } from '../../sandbox/index.ts';
import { findPty, ptyMissingCure } from '../../terminal/index.ts';
import type { AgentView, NewAgent } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';
import { agentView } from './views.ts';

/** Registers an agent with its program resolved to an absolute path; needs an operator's proof, asked at the edge. */
export async function addAgent(ctx: AppContext, caller: Caller, agent: NewAgent): Promise<Result<AgentView>> {
  const program = await resolveProgram(agent.command[0] ?? '', ctx.carried.path);
  if (!program.ok) return program;
  const pty = agent.tty === true ? requirePty() : ok();
  if (!pty.ok) return pty;
  const badName = (agent.envNames ?? [])
    .map((name) => ({ name, fault: environmentNameFault(name) }))
    .find(({ fault }) => fault !== undefined);
  if (badName) {
    return refuse(
      'invalid',
      'environment_name_refused',
      `Agent ${agent.codename}: ${badName.name} is never handed on (${badName.fault}).`,
      { name: badName.name },
    );
  }
  const added = await once(ctx.store, caller, 'agent.add', agent, async (tx) => {
    const { codename, driver, family, roles, tty = false, envNames = [], account } = agent;
    const command = [program.value, ...agent.command.slice(1)];
    const result = await registerAgent(
      tx,
      { codename, driver, family, roles, command, tty, envNames, ...(account === undefined ? {} : { account }) },
      { actor: caller.actor, source: 'operator' },
    );
    if (!result.ok) return result;
    tx.wake('agents', codename);
    return ok({ codename });
  });
  if (!added.ok) return added;
  const found = await findAgent(ctx.store.read, added.value.codename);
  return found.ok ? ok(await agentView(ctx.store.read, found.value, ctx.store.clock.now())) : found;
}

/** The native part that a program at a terminal needs; refuses `pty_missing` with what to do. */
function requirePty(): Result<undefined> {
  const pty = findPty();
  if (pty.found) return ok();
  return refuse('wrong-state', 'pty_missing', `No program can run at a terminal here: ${pty.why} ${ptyMissingCure}`);
}

export async function listAgentViews(ctx: AppContext): Promise<Result<AgentView[]>> {
  const agents = await listAgents(ctx.store.read);
  return ok(await Promise.all(agents.map((agent) => agentView(ctx.store.read, agent, ctx.store.clock.now()))));
}

/** The absolute path of a program by the operator's PATH. Refuses `program_missing`; nothing is looked up at start any more. */
export async function resolveProgram(program: string, morePath: readonly string[] = []): Promise<Result<string>> {
  const folders = [...morePath, ...(process.env.PATH ?? '').split(delimiter)];
  const candidates = isAbsolute(program)
    ? [program]
    : folders.filter(isAbsolute).map((folder) => join(folder, program));
  for (const candidate of candidates) {
    const isThere = await access(candidate, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return ok(candidate);
  }
  return refuse(
    'invalid',
    'program_missing',
    `There is no program ${program} that could be executed. Give its absolute path, or install it.`,
    { program },
  );
}
