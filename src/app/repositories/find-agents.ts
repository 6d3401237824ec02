import { agentProfiles } from '../../sessions/index.ts';
import type { DetectionView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { type AgentFacts, readAgentFacts } from '../launch/agent-facts.ts';
import { resolveProgram } from '../work/agents.ts';

/** The known agents whose program is on this machine, with how each would be registered and whether somebody is logged in. */
export async function findAgentPrograms(ctx: AppContext): Promise<DetectionView['agents']> {
  const found: DetectionView['agents'] = [];
  for (const profile of agentProfiles) {
    const program = await resolveProgram(profile.command[0] ?? '', ctx.carried.path);
    if (!program.ok) continue;
    const command = [program.value, ...profile.command.slice(1)];
    const { name: codename, driver, family } = profile;
    const row = { codename, driver, command: JSON.stringify(command), env_names: '[]', account: null };
    found.push({ codename, driver, command, family, note: noteOf(readAgentFacts(row, ctx.operatorHome, process.env)) });
  }
  return found;
}

function noteOf({ version, loggedIn, billed, cure }: AgentFacts): string {
  const who = cure ?? `logged in: ${loggedIn ?? 'unknown'}${billed === null ? '' : `, billed: ${billed}`}`;
  return `${version ?? '(version unknown)'}, ${who}`;
}
