import type { Command } from 'commander';

import type { AgentView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';
import { oneLine, table, timeLeft } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  context.action(command.command('list', { isDefault: true }).description('List agents'), async () => {
    const agents = await context.get<AgentView[]>('/api/agents');
    const rows = agents.map((one) => [
      one.codename,
      one.tty ? `${one.driver} (tty)` : one.driver,
      one.family,
      one.roles.join(','),
      stateOf(one),
      oneLine(one.account, 40),
      oneLine(one.command.join(' '), 60),
    ]);
    return {
      json: agents,
      text:
        rows.length === 0
          ? 'No agent yet: "chantier agent add".'
          : table(['CODENAME', 'DRIVER', 'FAMILY', 'ROLES', 'STATE', 'ACCOUNT', 'COMMAND'], rows),
    };
  });
  const add = command
    .command('add')
    .description('Register an agent')
    .argument('<codename>', '4 to 64 lower-case letters, digits or dashes')
    .argument('<command...>', 'Program and arguments, after --')
    .requiredOption('--family <name>', 'Provider family: claude, codex, gemini …')
    .option('--driver <driver>', 'acp, claude, codex or command', 'acp')
    .option('--tty', 'With the driver command: run the program at a terminal, to be watched by "attach"')
    .option('--role <role...>', 'author, reviewer or qa', ['author'])
    .option('--account <name>', 'Provider account, where it is not that of the key or log-in; shares its limits')
    .option('--env <name...>', 'Environment variables handed over to it, by name');
  withProof(add);
  context.action(add, async ({ args: [codename, ...program], options }) => {
    const body = {
      codename,
      command: program,
      family: options.family,
      driver: options.driver,
      ...(options.tty === true ? { tty: true } : {}),
      roles: options.role,
      ...(options.env === undefined ? {} : { envNames: options.env }),
      ...(options.account === undefined ? {} : { account: options.account }),
    };
    const agent = await context.decide<AgentView>('POST', '/api/agents', body, options);
    return { json: agent, text: `${agent.codename}: ${agent.command.join(' ')} (${agent.roles.join(', ')})` };
  });
}

function stateOf(agent: AgentView): string {
  if (!agent.active) return 'off';
  if (agent.limited === null) return 'ready';
  if (agent.limitedUntil === null) return `limited (${agent.limited}): "chantier pending"`;
  return `limited (${agent.limited}), ${timeLeft(agent.limitedUntil)} left`;
}
