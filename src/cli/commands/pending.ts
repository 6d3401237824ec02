import type { Command } from 'commander';

import type { DecisionView, Page } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { oneLine, shortTime, table } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command.option('--kind <kind>', 'Only decisions of this kind').option('--all', 'Settled ones too');
  context.action(command, async ({ options }) => {
    const page = await context.get<Page<DecisionView>>('/api/decisions', {
      state: options.all ? 'all' : 'open',
      kind: options.kind as string | undefined,
      limit: 500,
    });
    const rows = page.items.map((one) => [
      one.id,
      one.kind,
      one.count > 1 ? `×${one.count}` : '',
      shortTime(one.createdAt),
      oneLine(one.title, 90),
      one.state === 'open' ? one.verdicts.join('|') : one.outcome,
    ]);
    const text =
      rows.length === 0 ? 'Nothing waits for you.' : table(['ID', 'KIND', '', 'SINCE', 'WHAT', 'VERBS'], rows);
    return { json: page, text };
  });
}
