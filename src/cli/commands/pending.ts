import type { Command } from 'commander';

import type { DecisionView, Page } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { describeDecision, waysToSettle } from '../show-decision.ts';
import { oneLine, shortTime, table } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command
    .argument('[id]', 'A decision to show whole: the question, the call, what an agent said last')
    .option('--kind <kind>', 'Only decisions of this kind')
    .option('--all', 'Settled ones too');
  context.action(command, async ({ args: [id], options }) => {
    if (id !== undefined) {
      const decision = await context.get<DecisionView>(`/api/decisions/${encodeURIComponent(id)}`);
      return { json: decision, text: describeDecision(decision) };
    }
    const page = await context.get<Page<DecisionView>>('/api/decisions', {
      state: options.all ? 'all' : 'open',
      kind: options.kind as string | undefined,
      limit: 500,
    });
    return { json: page, text: textOf(page.items) };
  });
}

function textOf(decisions: readonly DecisionView[]): string {
  if (decisions.length === 0) return 'Nothing waits for you.';
  const rows = decisions.map((one) => [
    one.id,
    one.kind,
    one.count > 1 ? `×${one.count}` : '',
    shortTime(one.createdAt),
    oneLine(one.title, 90),
    one.state === 'open' ? inShort(one) : one.outcome,
  ]);
  const hint = decisions.some((one) => one.state === 'open')
    ? '\n\nAll of one, and how to settle it: chantier pending ID'
    : '';
  return table(['ID', 'KIND', '', 'SINCE', 'WHAT', 'SETTLE IT WITH'], rows) + hint;
}

/** Its ways to be settled, without the id, which stands at the beginning of the row. */
function inShort(decision: DecisionView): string {
  return waysToSettle(decision)
    .map((way) => way.replace(` ${decision.id}`, ''))
    .join(' | ');
}
