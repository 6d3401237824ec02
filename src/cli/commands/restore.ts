import { resolve } from 'node:path';

import type { Command } from 'commander';

import type { Restored } from '../../app/index.ts';
import { refuseInsideAgent } from '../autostart.ts';
import type { CliContext } from '../context.ts';
import { failureOf } from '../outcome.ts';

export function define(command: Command, context: CliContext): void {
  command
    .argument('<path>', 'A folder that "backup" has written')
    .option('--passphrase-fd <n>', 'Read the passphrase from this open file descriptor instead of asking')
    .option('--operator <name>', 'Name of an operator in the backup (default: the only one)')
    .option('--stop-agents', 'End agents of the present home that still live');
  context.action(command, async ({ args: [path = ''], options }) => {
    refuseInsideAgent(context.io.env);
    const { restoreHome } = await import('../../app/index.ts');
    const restored = await restoreHome({
      from: resolve(context.io.cwd, path),
      paths: context.paths,
      passphrase: await context.passphrase(options, 'Passphrase of an operator in the backup: '),
      operator: options.operator,
      stopAgents: options.stopAgents === true,
      say: (text) => context.io.err(`${text}\n`),
    });
    if (!restored.ok) throw failureOf(restored.refusal);
    return { json: restored.value, text: textOf(restored.value) };
  });
}

function textOf({ home, backup, aside, undo, endedSessions, formerOwners, operators }: Restored): string {
  return [
    `The backup of ${backup.createdAt} is in ${home} (event ${backup.head.seq}).`,
    ...(aside === null
      ? []
      : [`The home of before lies in ${aside}, its backups too; nothing deletes it. Back to it: ${undo}`]),
    `Log-ins, proofs and open terminals of before are void. ${endedSessions} sessions lived then; the next start ends them as CRASHED (restored), and their tasks go on.`,
    ...(operators.length > 1
      ? [`Operators are again those of the backup, with their passphrases of then: ${operators.join(', ')}.`]
      : []),
    ...(formerOwners.length > 0
      ? [
          'Nobody decides by Telegram until added again, since the backup does not know who was taken off the list after it:',
          ...formerOwners.map(
            ({ telegramId, operator }) => `  chantier notify owner add ${telegramId} --operator ${operator}`,
          ),
        ]
      : []),
    'Next: chantier up --detach, then chantier doctor --deep',
  ].join('\n');
}
