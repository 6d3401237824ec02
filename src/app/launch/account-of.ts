import { type AgentNeeds, agentNameOf, agentNeeds, type AgentProgram, agentProgramOf } from '../../sandbox/index.ts';
import type { Schema } from '../../store/index.ts';

type AgentRow = Pick<Schema['agent'], 'codename' | 'account' | 'driver' | 'command' | 'env_names'>;

/** The known program that an agent runs; `undefined` for any other. */
export function programOf(agent: Pick<AgentRow, 'driver' | 'command'>): AgentProgram | undefined {
  const command = JSON.parse(agent.command) as string[];
  return agentProgramOf(agentNameOf(command)) ?? agentProgramOf(agent.driver);
}

/**
 * The provider account that an agent uses (design section 7): the one it was registered with, else the key that was handed
 * over to it, else the log-in of its program, else the agent alone. Agents of one account share its limits.
 */
export function accountOf(agent: AgentRow, env: NodeJS.ProcessEnv): string {
  if (agent.account) return agent.account;
  const program = programOf(agent);
  const needs: AgentNeeds | undefined = program === undefined ? undefined : agentNeeds[program];
  const handed = JSON.parse(agent.env_names) as string[];
  const key = needs?.keyNames.find((name) => handed.includes(name) && env[name] !== undefined);
  if (key !== undefined) return `key:${key}`;
  return program === undefined ? `agent:${agent.codename}` : `log-in:${program}`;
}
