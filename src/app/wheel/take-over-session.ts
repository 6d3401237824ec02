import { setTimeout as sleep } from 'node:timers/promises';

import { ok, refuse, type Refused, type Result, toRfc3339 } from '../../kernel/index.ts';
import { closeSessionCalls } from '../../gate/index.ts';
import { inspectWorkFolder } from '../../forge/index.ts';
import {
  countTerminal,
  findSession,
  noteStart,
  notTakenOver,
  openTakeover,
  type SessionRow,
  stillEnding,
  takeOver,
  type TakeoverRow,
  toSession,
} from '../../sessions/index.ts';
import type { Tx } from '../../store/index.ts';
import type { TakeoverRequest, TakeoverView, TerminalRequest, TerminalView } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';
import { rowOf } from '../sessions/find-row.ts';
import { requireHere } from '../sessions/require-here.ts';
import { readSessionView } from '../sessions/views.ts';
import { insideOf } from '../workspace/inside.ts';
import { findSessionFolder } from '../workspace/session-folder.ts';
import { planTerminal } from './plan-terminal.ts';
import { livingTerminals, removeTerminalFiles } from './terminals.ts';

/** How long is waited for the agent's process to be gone (ms). */
const goneWithinMs = 12_000;

/** `takeover`: fences the agent and waits, for a while, until it is gone (design 7 "Humans at the wheel"). */
export async function takeOverSession(
  ctx: AppContext,
  caller: Caller,
  name: string,
  request: TakeoverRequest,
): Promise<Result<TakeoverView>> {
  const row = await rowOf(ctx.store.read, name);
  if (!row.ok) return row;
  const here = requireHere(ctx, row.value);
  if (!here.ok) return here;
  const taken = await once(ctx.store, caller, 'takeover', { session: row.value.id, ...request }, async (tx) => {
    const open = await tx.db
      .selectFrom('escalation')
      .select('id')
      .where('session_id', '=', row.value.id)
      .where('status', '=', 'OPEN')
      .execute();
    const by = request.by ?? (await nameOf(tx, caller));
    const done = await takeOver(tx, ctx.sessions, caller.actor, { sessionId: row.value.id, by });
    if (!done.ok) return done;
    await closeSessionCalls(tx, { sessionId: row.value.id, reason: 'taken_over' });
    return ok({ by, since: toRfc3339(done.value.taken_at), closed: open.length });
  });
  if (!taken.ok) return taken;
  const isReady = await awaitAgentGone(ctx, row.value.id);
  const takeover = await openTakeover(ctx.store.read, row.value.id);
  if (isReady && takeover) await rememberStart(ctx, row.value, takeover);
  const session = await readSessionView(ctx, row.value.id);
  if (!session.ok) return session;
  const place = await findSessionFolder(ctx, toSession(row.value));
  const { by, since, closed } = taken.value;
  return ok({
    session: session.value,
    by,
    since,
    isReady,
    closedQuestions: closed,
    folder: place?.folder.clone ?? null,
  });
}

/** Opens a terminal in a session that was taken over. One at a time: refuses `terminal_open` while another lives. */
export async function openTerminal(
  ctx: AppContext,
  name: string,
  request: TerminalRequest,
): Promise<Result<TerminalView>> {
  const found = await rowOf(ctx.store.read, name);
  if (!found.ok) return found;
  const row = found.value;
  const here = requireHere(ctx, row);
  if (!here.ok) return here;
  const takeover = await openTakeover(ctx.store.read, row.id);
  if (!takeover) return notTakenOver(row);
  if (!(await awaitAgentGone(ctx, row.id))) return stillEnding(row);
  const living = livingTerminals(takeover.id);
  if (living.length > 0) return terminalOpen(row, takeover, living);
  const place = await findSessionFolder(ctx, toSession(row));
  if (!place) return refuse('wrong-state', 'work_folder_lost', `The work folder of ${row.work_key} is gone.`);
  await rememberStart(ctx, row, takeover);
  const n = await ctx.store.tx((tx) => countTerminal(tx, takeover.id));
  if (n === undefined) return notTakenOver(row);
  // One that was prepared and never opened can be opened no more.
  await removeTerminalFiles(ctx, row.id);
  const late = livingTerminals(takeover.id);
  if (late.length > 0) return terminalOpen(row, takeover, late);
  const planned = await planTerminal(ctx, row, takeover, place, { n, ...request });
  return planned.ok ? ok({ sessionId: row.id, ...planned.value }) : planned;
}

/** A terminal lives: nothing else may begin in the folder. */
export function terminalOpen(row: SessionRow, takeover: TakeoverRow, pids: readonly number[]): Refused {
  return refuse(
    'duplicate',
    'terminal_open',
    `${takeover.taken_by} has a terminal open in ${row.work_key} (process ${pids[0]}): close it, or end it with \`chantier handback ${row.work_key} --end\`.`,
    { session_id: row.id, pids: pids.slice(0, 20) },
  );
}

/** Where the human's commits begin: the head that the agent left. Without a repository there is none. */
export async function rememberStart(
  ctx: AppContext,
  row: SessionRow,
  takeover: TakeoverRow,
): Promise<string | undefined> {
  if (takeover.start_commit !== null) return takeover.start_commit;
  const place = await findSessionFolder(ctx, toSession(row));
  if (!place?.repository) return undefined;
  const facts = await inspectWorkFolder(ctx.forge, place.repository, place.folder, insideOf(ctx));
  const head = facts.ok ? (facts.value.branchCommit ?? facts.value.headCommit) : undefined;
  if (head !== undefined) await ctx.store.tx((tx) => noteStart(tx, takeover.id, head));
  return head;
}

/** Whether the process of a taken-over session is gone, waited for a while. */
export async function awaitAgentGone(ctx: AppContext, sessionId: string): Promise<boolean> {
  const giveUpAt = ctx.store.clock.monotonic() + goneWithinMs;
  for (;;) {
    const row = await findSession(ctx.store.read, sessionId);
    if (!row || row.process === 'ended' || row.process === 'none') return true;
    if (row.taken_over !== 1 || ctx.store.clock.monotonic() > giveUpAt) return false;
    await sleep(50);
  }
}

async function nameOf(tx: Tx, { actor }: Caller): Promise<string> {
  if (actor.kind !== 'operator') return actor.id;
  const user = await tx.db.selectFrom('user_account').select('name').where('id', '=', actor.id).executeTakeFirst();
  return user?.name ?? actor.id;
}
