import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { agentNeeds, agentProgramOf } from '../../sandbox/index.ts';
import { agentProfiles } from '../../sessions/index.ts';
import type { DetectionView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { resolveProgram } from '../work/agents.ts';

/** The known agents whose program is on this machine, with how each would be registered and whether somebody is logged in. */
export async function findAgentPrograms(ctx: AppContext): Promise<DetectionView['agents']> {
  const found: DetectionView['agents'] = [];
  for (const profile of agentProfiles) {
    const program = await resolveProgram(profile.command[0] ?? '', ctx.carried.path);
    if (!program.ok) continue;
    found.push({
      codename: profile.name,
      driver: profile.driver,
      command: [program.value, ...profile.command.slice(1)],
      family: profile.family,
      note: logInNote(ctx, profile.command[0] ?? profile.name),
    });
  }
  return found;
}

function logInNote(ctx: AppContext, program: string): string {
  const known = agentProgramOf(program);
  if (known === undefined) return 'log-in unknown';
  const needs = agentNeeds[known];
  const file = join(ctx.operatorHome, needs.credentialFolder, needs.credentialFile);
  return existsSync(file)
    ? `logged in (${needs.credentialFolder})`
    : `not logged in; or hand over ${needs.keyNames.join(' or ')}`;
}
