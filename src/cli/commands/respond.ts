import type { Command } from 'commander';

import type { EscalationView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';

export function define(command: Command, context: CliContext): void {
  withProof(
    command
      .argument('<session>', 'Work key or id of the session')
      .argument('<text>', 'The answer; - reads it from stdin'),
  );
  context.action(command, async ({ args: [session = '', given = ''], options }) => {
    const text = await context.textOf(given);
    const path = `/api/sessions/${encodeURIComponent(session)}/answers`;
    const answered = await context.decide<EscalationView>('POST', path, { text }, options);
    const state = answered.delivery === 'delivered' ? 'delivered' : 'stored, delivery pending';
    return { json: answered, text: `${answered.workKey}: answer ${state}.` };
  });
}
