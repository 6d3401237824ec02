import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import { JournalReader, type SessionRow } from '../../sessions/index.ts';
import type { LogPage } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';

/** The longest piece of one line that a page carries; the rest stays in the journal. */
const maxEntry = 16_384;

/** One page of a generation's journal, from byte `after`: what the agent said, line by line (decision 2 of sessions). */
export async function readLogPage(
  ctx: AppContext,
  session: SessionRow,
  range: { generation?: number | undefined; after: number; limit: number },
): Promise<Result<LogPage>> {
  const generation = range.generation ?? session.generation;
  const path = join(ctx.paths.sessions, session.id, String(generation), 'out.ndjson');
  const ended = session.ended_at !== null || generation < session.generation;
  if (!existsSync(path)) {
    if (generation > session.generation) {
      return refuse(
        'not-found',
        'unknown_generation',
        `Session ${session.work_key} has no generation ${generation}; the newest is ${session.generation}.`,
      );
    }
    return ok({ sessionId: session.id, generation, entries: [], nextOffset: range.after, ended });
  }
  const reader = await JournalReader.open(path, range.after);
  try {
    const entries: LogPage['entries'] = [];
    while (entries.length < range.limit) {
      const line = await reader.next();
      if (!line) break;
      const text = line.kind === 'line' ? line.bytes.toString('utf8') : '(a line longer than the limit)';
      entries.push({
        offset: line.start,
        stream: 'out',
        text: text.length > maxEntry ? `${text.slice(0, maxEntry)}…` : text,
      });
    }
    return ok({ sessionId: session.id, generation, entries, nextOffset: reader.consumed, ended });
  } finally {
    await reader.close();
  }
}
