import type { Command } from 'commander';

import type { SettledView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { withProof } from '../options.ts';

export function define(command: Command, context: CliContext): void {
  command
    .argument('<id>', 'Id of the decision, or of the capability it is about')
    .option('--note <text>', 'Why')
    .option('--standing', 'For a call: approve its capability for good, not this one call')
    .option('--once', 'For a call: approve this one call only; for a budget: let one turn pass (as without --raise)')
    .option('--raise <amount>', 'For a budget: raise its cap by tokens (500k, 2M) or money ($5)')
    .option('--head <commit>', 'For a landing or a human review: only if this is still its head')
    .option('--seen-whole', 'For a change: you have read elsewhere what cannot be shown whole');
  withProof(command);
  context.action(command, async ({ args: [id = ''], options }) => {
    const body = {
      verdict: 'approve',
      ...(options.note === undefined ? {} : { note: options.note }),
      ...(options.standing ? { scope: 'standing' } : options.once ? { scope: 'once' } : {}),
      ...(options.raise === undefined ? {} : { raise: options.raise }),
      ...(options.head === undefined ? {} : { head: options.head }),
      ...(options.seenWhole ? { isSeenWhole: true } : {}),
    };
    const path = `/api/decisions/${encodeURIComponent(id)}/verdict`;
    const settled = await context.decide<SettledView>('PUT', path, body, options);
    return { json: settled, text: settled.message };
  });
}
