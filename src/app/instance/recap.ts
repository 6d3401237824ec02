import { ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import { parseDuration } from '../../config/index.ts';
import { makeVisible } from '../../gate/index.ts';
import { readSpending } from '../../spending/index.ts';
import type { RecapView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { planViews, spendingView } from '../spending/views.ts';

/** The longest look back, and the most of one kind that is given. */
const longestMs = 90 * 86_400_000;
const mostItems = 200;

/** What happened since: landed, waiting on whom, failed and why, what it cost, what to do next (design section 7). */
export async function readRecap(ctx: AppContext, given: string): Promise<Result<RecapView>> {
  const backMs = parseDuration(given);
  if (backMs === undefined || backMs <= 0 || backMs > longestMs)
    return refuse(
      'invalid',
      'bad_duration',
      'Say since when as a duration with its unit, such as 8h or 2d; 90d at most.',
    );
  const now = ctx.store.clock.now();
  const since = now - backMs;
  const waiting = await readWaiting(ctx);
  const failed = await readFailed(ctx, since);
  const running = await readRunning(ctx);
  return ok({
    since: toRfc3339(since),
    until: toRfc3339(now),
    landed: await readLanded(ctx, since),
    waiting,
    failed,
    running,
    spending: spendingView(await readSpending(ctx.store.read, { since })),
    plans: await planViews(ctx),
    next: nextStep(waiting, failed, running),
  });
}

async function readLanded(ctx: AppContext, since: number): Promise<RecapView['landed']> {
  const db = ctx.store.read;
  const rows = await db
    .selectFrom('landing')
    .innerJoin('pull_request', 'pull_request.id', 'landing.pull_request_id')
    .innerJoin('repository', 'repository.id', 'landing.repository_id')
    .select([
      'landing.id',
      'landing.ended_at',
      'pull_request.id as change',
      'pull_request.task_id',
      'pull_request.number',
      'pull_request.title',
      'repository.name',
    ])
    .where('landing.state', '=', 'landed')
    .where('landing.ended_at', '>=', since)
    .orderBy('landing.ended_at')
    .limit(mostItems)
    .execute();
  return Promise.all(
    rows.map(async (row) => ({
      landingId: row.id,
      number: row.number,
      repository: row.name,
      title: makeVisible(row.title),
      at: toRfc3339(row.ended_at ?? since),
      spending: spendingView(await readSpending(db, { change: { pullRequestId: row.change, taskId: row.task_id } })),
    })),
  );
}

async function readWaiting(ctx: AppContext): Promise<RecapView['waiting']> {
  const rows = await ctx.store.read
    .selectFrom('decision_request')
    .select(['id', 'kind', 'title', 'created_at'])
    .where('state', '=', 'open')
    .orderBy('created_at')
    .orderBy('id')
    .limit(mostItems)
    .execute();
  return rows.map((row) => ({
    id: row.id,
    kind: row.kind,
    title: makeVisible(row.title),
    since: toRfc3339(row.created_at),
  }));
}

async function readFailed(ctx: AppContext, since: number): Promise<RecapView['failed']> {
  const rows = await ctx.store.read
    .selectFrom('session')
    .select(['work_key', 'state', 'reason', 'ended_at'])
    .where('state', 'in', ['CRASHED', 'START_FAILED'])
    .where('ended_at', '>=', since)
    .orderBy('ended_at')
    .limit(mostItems)
    .execute();
  return rows.map((row) => ({
    what: row.work_key,
    state: row.state,
    why: makeVisible(row.reason ?? 'unknown').replaceAll('_', ' '),
    at: toRfc3339(row.ended_at ?? since),
  }));
}

async function readRunning(ctx: AppContext): Promise<RecapView['running']> {
  const rows = await ctx.store.read
    .selectFrom('session')
    .select(['work_key', 'agent', 'state'])
    .where('ended_at', 'is', null)
    .orderBy('created_at')
    .limit(mostItems)
    .execute();
  return rows.map((row) => ({ workKey: row.work_key, agent: row.agent, state: row.state }));
}

/** One sentence: the oldest question first, since work stands still behind it. */
function nextStep(waiting: RecapView['waiting'], failed: RecapView['failed'], running: RecapView['running']): string {
  const [oldest] = waiting;
  if (oldest) {
    const act = oldest.kind === 'escalation_answer' ? 'respond' : 'approve';
    return `Decide ${oldest.id} first: "chantier ${act} ${oldest.id}"; all of them: "chantier pending".`;
  }
  const [lost] = failed;
  if (running.length > 0) return 'Nothing waits for you; "chantier status" shows who works.';
  if (lost) return `Look at what failed: "chantier logs ${lost.what}".`;
  return 'Nothing waits for you and nobody works: "chantier run" starts something.';
}
