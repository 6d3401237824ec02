import { ok, refuse, type Refused, type Result } from '../../kernel/index.ts';
import { readTranscript, type SessionRow } from '../../sessions/index.ts';
import { parseTerminalFrame, screenLinePrefix } from '../../terminal/index.ts';
import type { TerminalPage, TerminalQuery } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { requireHere } from './require-here.ts';

/** One page of what a program shows; without `after` from the newest moment at which the whole screen is known. */
export async function readTerminalPage(
  ctx: AppContext,
  caller: Caller,
  session: SessionRow,
  query: TerminalQuery,
): Promise<Result<TerminalPage>> {
  const here = requireHere(ctx, session);
  if (!here.ok) return here;
  const generation = query.generation ?? session.generation;
  const page = await readTranscript(ctx.paths.sessions, session.id, generation, {
    ...(query.after === undefined ? { lastLine: screenLinePrefix } : { from: query.after }),
    waitMs: query.waitMs,
    ...(caller.signal ? { signal: caller.signal } : {}),
  });
  const head = {
    sessionId: session.id,
    generation,
    newestGeneration: session.generation,
    sessionEnded: session.ended_at !== null,
  };
  // Nothing was written yet: the agent's entry says whether anything will be.
  const isEmpty = !page.ok || (query.after === undefined && page.value.lines.length === 0);
  if (isEmpty && !(await hasTerminal(ctx, session))) return noTerminal(session);
  if (!page.ok)
    return ok({
      ...head,
      frames: [],
      next: 0,
      hasMore: false,
      ended: head.sessionEnded || generation < session.generation,
    });
  const { lines, next, has_more: hasMore, is_complete: isComplete } = page.value;
  const frames = lines.flatMap((line) => parseTerminalFrame(line.text) ?? []);
  // Whether there is a terminal at all shows in the first line that is read; later ones are the program's business.
  if (query.after === undefined && lines.length > 0 && frames.length === 0) return noTerminal(session);
  return ok({
    ...head,
    frames,
    next,
    hasMore,
    ended: isComplete && !hasMore,
  });
}

async function hasTerminal(ctx: AppContext, session: SessionRow): Promise<boolean> {
  const agent = await ctx.store.read
    .selectFrom('agent')
    .select('tty')
    .where('codename', '=', session.agent)
    .executeTakeFirst();
  return agent?.tty === 1;
}

/** The refusal for a session whose program has no terminal. */
export function noTerminal(session: SessionRow): Refused {
  return refuse(
    'wrong-state',
    'no_terminal',
    `The agent of ${session.work_key} has no terminal: "chantier logs" shows what it says, "chantier tell" tells it something.`,
  );
}
