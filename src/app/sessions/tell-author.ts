import { ok, refuse, type Refused, type Result } from '../../kernel/index.ts';
import { findSession, type SessionRow, tellSession, waitPrompt } from '../../sessions/index.ts';
import { openPullRequestOfTask } from '../../review/index.ts';
import type { ToldView } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { rowOf } from './find-row.ts';

/** How long `tell` waits for a verdict (ms); afterwards it says what is known. */
const verdictWithinMs = 3_000;

/**
 * `tell`: a text for the agent, behind its turn or at once, with what is known of its delivery (decision 8). Safe to repeat
 * under its key. An author that is DONE takes none, but is reachable through its pull request; the refusal says how.
 */
export async function tellAuthor(
  ctx: AppContext,
  caller: Caller,
  session: string,
  message: { text: string; now: boolean },
): Promise<Result<ToldView>> {
  const row = await rowOf(ctx.store.read, session);
  if (!row.ok) return row;
  const told = await ctx.store.tx((tx) =>
    tellSession(tx, ctx.sessions, caller, {
      session: row.value.id,
      text: message.text,
      now: message.now,
      key: caller.idempotencyKey,
    }),
  );
  if (!told.ok) return told.refusal.code === 'session_ended' ? ((await stillReachable(ctx, row.value)) ?? told) : told;
  const seen = await waitPrompt(ctx.store, told.value.value.prompt_id, verdictWithinMs);
  const state = seen?.delivery ?? told.value.value.delivery;
  const sessionId = row.value.id;
  if (state === 'delivered') return ok({ sessionId, delivery: 'delivered', message: 'The agent has it.' });
  if (state === 'not_delivered')
    return ok({ sessionId, delivery: 'not-delivered', message: 'The agent did not get it: its session ended first.' });
  const now = await findSession(ctx.store.read, sessionId);
  return ok({ sessionId, delivery: 'unconfirmed', message: whyNotYet(now ?? row.value, state === 'queued') });
}

function whyNotYet(row: SessionRow, isQueued: boolean): string {
  if (!isQueued) return 'It was sent; the agent has not confirmed it yet.';
  if (row.taken_over === 1) return `It waits until ${row.work_key} is handed back.`;
  if (row.state === 'PAUSED') return `It waits until ${row.work_key} is resumed.`;
  if (row.state === 'ESCALATED') return 'It waits until the open questions of the agent are answered.';
  if (row.state === 'STARTING' || row.turn_open === 0) return 'It waits for the agent to be there.';
  return 'It waits for the end of the open turn; with --now it would end it.';
}

/** What a human can do whose author has handed its work in. */
async function stillReachable(ctx: AppContext, row: SessionRow): Promise<Refused | undefined> {
  if (row.state !== 'DONE' || row.role !== 'author' || row.task_id === null) return undefined;
  const pull = await openPullRequestOfTask(ctx.store.read, row.task_id);
  const facts = { session_id: row.id, state: row.state };
  if (!pull)
    return refuse(
      'wrong-state',
      'session_ended',
      `${row.work_key} is DONE and its change is no longer open. To have it worked on again: \`chantier task reopen ${row.work_key} --reason "…"\`.`,
      facts,
    );
  const decision = await ctx.store.read
    .selectFrom('decision_request')
    .select('id')
    .where('state', '=', 'open')
    .where('kind', 'in', ['landing', 'human_review'])
    .where('project_id', '=', row.project_id)
    .where('subject_id', 'in', [
      pull.id,
      ...(await ctx.store.read.selectFrom('landing').select('id').where('pull_request_id', '=', pull.id).execute()).map(
        (landing) => landing.id,
      ),
    ])
    .executeTakeFirst();
  const how = decision
    ? `say what must change with \`chantier refuse ${decision.id} --note "…"\`: it goes on in the same conversation`
    : 'it hears from its reviewer; once the change waits for you, refuse it with a note, and it goes on in the same conversation';
  return refuse(
    'wrong-state',
    'author_reachable',
    `${row.work_key} is DONE and takes no texts, but its author is reachable through pull request ${pull.number}: ${how}.`,
    { ...facts, pull_request: pull.number, decision: decision?.id ?? null },
  );
}
