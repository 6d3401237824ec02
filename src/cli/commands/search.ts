import type { Command } from 'commander';

import type { SearchPage } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { momentOf } from '../moment-of.ts';
import { counted, oneLine, shortTime, visible } from '../show.ts';

type Hit = SearchPage['hits'][number];

/** So long the command goes on by itself from page to page (ms). */
const goOnMs = 60_000;
/** Gaps that are named one by one. */
const shownGaps = 5;

export function define(command: Command, context: CliContext): void {
  command
    .argument('<words...>', 'All must occur in one text, in any order; quote a phrase inside: \'"no such file"\'')
    .option('--session <session>', 'Only this session, by work key or id')
    .option('--task <task>', 'Only sessions of this task, reviewers too: its id, or project/task')
    .option('--since <when>', 'From this time on: 30m, 8h, or 2026-01-31T12:00:00Z')
    .option('--limit <n>', 'Hits at most, 1 to 100', '20')
    .option('--cursor <cursor>', 'Go on where an earlier search ended');
  context.action(command, async ({ args, options }) => {
    const query = {
      q: args.join(' '),
      session: options.session as string | undefined,
      task: options.task as string | undefined,
      since: options.since === undefined ? undefined : momentOf(String(options.since)),
    };
    const page = await searchOn(context, query, String(options.limit), options.cursor as string | undefined);
    return { json: page, text: textOf(page) };
  });
}

/** Goes on while calls end only because they have had their share; not for ever. */
async function searchOn(
  context: CliContext,
  query: Record<string, string | undefined>,
  limit: string,
  from: string | undefined,
): Promise<SearchPage> {
  const began = performance.now();
  let whole = await context.get<SearchPage>('/api/search', { ...query, limit, cursor: from });
  while (whole.ended === 'share' && whole.cursor !== null && performance.now() - began < goOnMs) {
    const left = String(Number(limit) - whole.hits.length);
    const page = await context.get<SearchPage>('/api/search', { ...query, limit: left, cursor: whole.cursor });
    whole = {
      ...page,
      hits: [...whole.hits, ...page.hits],
      gaps: [...whole.gaps, ...page.gaps],
      searchedBytes: whole.searchedBytes + page.searchedBytes,
    };
  }
  return whole;
}

function textOf(page: SearchPage): string {
  const megabytes = (page.searchedBytes / 1e6).toFixed(1);
  const head = `${counted(page.hits.length, 'hit')}; ${megabytes} MB looked through.`;
  const gaps = page.gaps
    .slice(0, shownGaps)
    .map((gap) => `Not looked at: ${visible(gap.workKey)} generation ${gap.generation}. ${gap.message}`);
  if (page.gaps.length > shownGaps)
    gaps.push(`Not looked at: ${page.gaps.length - shownGaps} more; --json names them.`);
  const more = page.cursor === null ? [] : [`There may be more: go on with --cursor ${page.cursor}`];
  return [...page.hits.map(hitText), head, ...gaps, ...more].join('\n');
}

function hitText({ kind, workKey, generation, at, excerpt, command }: Hit): string {
  const where = `${visible(workKey)}${generation === null ? '' : ` generation ${generation}`}`;
  const show = command === null ? '  (its transcript was removed)' : `  ${command}`;
  return `${shortTime(at)}  ${where}  ${kind}\n  ${oneLine(excerpt, 300)}\n${show}\n`;
}
