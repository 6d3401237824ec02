import type { Command } from 'commander';

import type { EventPage, EventView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { readEventStream } from '../event-stream.ts';
import { oneLine, shortTime } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command
    .option('--follow', 'Go on with what comes; with --json one document a line')
    .option('--after <seq>', 'Only events after this number')
    .option('--limit <n>', 'At most so many: the last ones, or with --after the first ones', '50')
    .option('--session <id>', 'Only events of this session')
    .option('--kind <kind>', 'Only events of this kind');
  context.action(command, async ({ options }) => {
    const filter = { session: options.session as string | undefined, kind: options.kind as string | undefined };
    if (options.follow) return follow(context, filter, options);
    const range = options.after === undefined ? { newest: 'true' } : { after: Number(options.after) };
    const page = await context.get<EventPage>('/api/events', { ...range, limit: String(options.limit), ...filter });
    return { json: page, text: page.items.map(lineOf).join('\n') };
  });
}

async function follow(
  context: CliContext,
  filter: Record<string, string | undefined>,
  options: { json?: boolean; after?: unknown },
): Promise<{ json: unknown; text: string }> {
  await context.ensureServer();
  let last = options.after === undefined ? undefined : Number(options.after);
  for await (const event of readEventStream(context.client(), { ...filter, after: last }, context.io.signal)) {
    last = event.seq;
    context.io.out(`${options.json ? JSON.stringify(event) : lineOf(event)}\n`);
  }
  return { json: { last: last ?? null }, text: '' };
}

function lineOf(event: EventView): string {
  const facts = Object.keys(event.facts).length === 0 ? '' : ` ${oneLine(JSON.stringify(event.facts), 120)}`;
  return `${event.seq} ${shortTime(event.at)} ${event.kind} ${event.subject.kind}:${event.subject.id} by ${event.actor.kind}:${event.actor.id}${facts}`;
}
