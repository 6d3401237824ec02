import { setTimeout as sleep } from 'node:timers/promises';

import type { Command } from 'commander';

import type { LogPage } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { visible } from '../show.ts';

export function define(command: Command, context: CliContext): void {
  command
    .argument('<session>', 'Work key or id of the session')
    .option('--follow', 'Go on until the session ends')
    .option('--generation <n>', 'An earlier start of its process')
    .option('--limit <n>', 'Entries of one page', '200')
    .option('--after <offset>', 'Byte offset to go on from', '0');
  context.action(command, async ({ args: [session = ''], options }) => {
    const path = `/api/sessions/${encodeURIComponent(session)}/log`;
    let after = Number(options.after);
    const read = (): Promise<LogPage> =>
      context.get<LogPage>(path, {
        after,
        limit: String(options.limit),
        generation: options.generation as string | undefined,
      });
    let page = await read();
    while (options.follow && !context.io.signal.aborted) {
      context.io.out(options.json ? page.entries.map((entry) => `${JSON.stringify(entry)}\n`).join('') : textOf(page));
      const isAtEnd = page.nextOffset === after;
      after = page.nextOffset;
      if (page.ended && isAtEnd) return { json: { nextOffset: after, ended: true }, text: '' };
      if (isAtEnd) await sleep(500, undefined, { signal: context.io.signal }).catch(() => {});
      page = await read();
    }
    return { json: page, text: textOf(page) };
  });
}

function textOf(page: LogPage): string {
  const marks = { in: '>', out: '<', err: '!' };
  return page.entries.map((entry) => `${marks[entry.stream]} ${visible(entry.text)}\n`).join('');
}
