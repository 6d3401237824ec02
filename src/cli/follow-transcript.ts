import { setTimeout as sleep } from 'node:timers/promises';

import type { TranscriptPage } from '../wire/index.ts';
import type { CliContext } from './context.ts';
import { readThroughRestarts } from './follow-pages.ts';
import { failureText, retryText } from './show-failure.ts';
import { TranscriptText } from './show-transcript.ts';

/** How long the server holds a request while nothing comes (ms). */
const followWaitMs = 15_000;
/** How often is looked whether an ended process was started again (ms). */
const lookAgainMs = 500;

/** Prints page by page, holding one; with `--json` one entry a line. */
export async function followTranscript(
  context: CliContext,
  path: string,
  query: { limit?: string; raw?: true | undefined },
  first: TranscriptPage,
  options: { json?: boolean; follow?: unknown; generation?: unknown },
): Promise<{ json: unknown; text: string }> {
  const text = new TranscriptText();
  let last = first;
  for (let page: TranscriptPage | undefined = first; page !== undefined;) {
    last = page;
    const { entries } = page;
    context.io.out(options.json ? entries.map((entry) => `${JSON.stringify(entry)}\n`).join('') : text.add(entries));
    await context.io.drained?.();
    const next = nextOf(page, options);
    if (next === undefined) break;
    if (page.ended && next.generation === page.generation)
      await sleep(lookAgainMs, undefined, { signal: context.io.signal }).catch(() => {});
    const { limit, raw } = query;
    page = await readThroughRestarts<TranscriptPage>(context, path, { limit, raw, ...next });
  }
  if (options.json !== true) sayFailure(context, last);
  return { json: { generation: last.generation, next: last.next, ended: last.ended }, text: text.end() };
}

/** Where the reading goes on; `undefined` at its end. */
function nextOf(
  page: TranscriptPage,
  options: { follow?: unknown; generation?: unknown },
): { generation: number; after: number; waitMs?: number } | undefined {
  const here = { generation: page.generation, after: page.next };
  if (page.hasMore) return here;
  if (page.ended && options.generation !== undefined) return undefined;
  // A process that was started again goes on in the next generation's journal.
  if (page.ended && page.generation < page.newestGeneration) return { generation: page.generation + 1, after: 0 };
  if (options.follow !== true || (page.ended && page.sessionEnded)) return undefined;
  return { ...here, waitMs: followWaitMs };
}

/** How it failed goes beside the transcript: what the agent said stays alone on stdout. */
export function sayFailure({ io }: CliContext, { failure, retry }: TranscriptPage): void {
  if (failure) io.err(`${failureText(failure)}\n`);
  if (retry) io.err(`${retryText(retry)}\n`);
}
