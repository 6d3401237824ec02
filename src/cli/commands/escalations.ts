import type { Command } from 'commander';

import type { EscalationView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { shortTime, visible } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command.argument('[session]', 'Work key or id of a session');
  context.action(command, async ({ args }) => {
    const questions = await context.get<EscalationView[]>('/api/escalations', { session: args[0] });
    const text = questions.map(
      (one) => `${one.workKey} · ${one.status} since ${shortTime(one.createdAt)}\n${visible(one.text)}`,
    );
    return { json: questions, text: text.join('\n\n') || 'No open question.' };
  });
}
