import type { Command } from 'commander';

import type { TranscriptPage } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { followTranscript, sayFailure } from '../follow-transcript.ts';
import { momentOf } from '../moment-of.ts';
import { TranscriptText } from '../show-transcript.ts';

export function define(command: Command, context: CliContext): void {
  command
    .argument('<session>', 'Work key or id of the session')
    .option('--follow', 'Go on until the session ends, over restarts of the server and of the agent')
    .option('--generation <n>', 'An earlier start of its process')
    .option('--since <when>', 'From this time on: 30m, 2h, or 2026-01-31T12:00:00Z')
    .option('--all', 'From the beginning to the end')
    .option('--limit <n>', 'Lines of the journal in a page, the newest unless told otherwise', '200')
    .option('--after <offset>', 'Byte offset to go on from: "next" of the page before')
    .option('--raw', 'The lines of the journal as they are');
  context.action(command, async ({ args: [session = ''], options }) => {
    const path = `/api/sessions/${encodeURIComponent(session)}/transcript`;
    const begin = beginOf(options);
    const query = {
      limit: String(options.limit),
      raw: options.raw ? (true as const) : undefined,
    };
    const generation = options.generation as string | undefined;
    const first = await context.get<TranscriptPage>(path, { ...query, ...begin, generation });
    const isWhole = options.follow || options.all || (begin.since !== undefined && !options.json);
    if (isWhole) return followTranscript(context, path, query, first, options);
    const text = new TranscriptText();
    const shown = text.add(first.entries) + text.end();
    if (!options.json) sayFailure(context, first);
    if (shown === '' && !options.json && first.failure === null) context.io.err(`${emptyText(first)}\n`);
    return { json: first, text: shown };
  });
}

function emptyText({ sessionEnded }: TranscriptPage): string {
  return sessionEnded
    ? 'Nothing is here: it ended without a word, or its transcript is older than `retention.journals`. What it wrote to its error output stands in its decision: "chantier pending", then "chantier pending ID".'
    : 'It has said nothing yet; --follow waits for it.';
}

function beginOf(options: Record<string, unknown>): Record<string, string | number | undefined> {
  if (options.after !== undefined) return { after: String(options.after) };
  if (options.since !== undefined) return { since: momentOf(String(options.since)) };
  return options.all ? { after: 0 } : { tail: Math.min(2000, Number(options.limit) || 200) };
}
