import type { Command } from 'commander';

import type { CapabilityDetail, CapabilityView, Page } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { oneLine, shortTime, table, visible } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  const list = command
    .command('list', { isDefault: true })
    .description('List capabilities')
    .option('--status <status>', 'provisional, approved, refused or blocked');
  context.action(list, async ({ options }) => {
    const page = await context.get<Page<CapabilityView>>('/api/capabilities', {
      status: options.status as string | undefined,
      limit: 500,
    });
    const rows = page.items.map((one) => [
      one.id,
      oneLine(one.name, 50),
      oneLine(one.server, 30),
      one.tier,
      one.status,
      one.expiresAt === null ? '–' : shortTime(one.expiresAt),
      one.execCount,
    ]);
    return {
      json: page,
      text:
        rows.length === 0
          ? 'No capability yet.'
          : table(['ID', 'NAME', 'SERVER', 'TIER', 'STATUS', 'GRACE UNTIL', 'RUNS'], rows),
    };
  });
  const show = command
    .command('show')
    .description('Show one capability with its calls')
    .argument('<id>', 'Id of the capability');
  context.action(show, async ({ args: [id = ''] }) => {
    const one = await context.get<CapabilityDetail>(`/api/capabilities/${encodeURIComponent(id)}`);
    const calls = one.calls.map(
      (call) =>
        `  ${shortTime(call.createdAt)} ${call.verdict} ${oneLine(call.reason, 60)} ${oneLine(JSON.stringify(call.preview), 120)}`,
    );
    const text = [
      `${one.id} ${oneLine(one.name)} of ${oneLine(one.server)}: ${one.status}, ${one.tier}, run ${one.execCount} times`,
      visible(JSON.stringify(one.definition, null, 2)),
      ...calls,
    ].join('\n');
    return { json: one, text };
  });
}
