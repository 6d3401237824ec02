import { ok, refuse, type Result } from '../../kernel/index.ts';
import {
  acceptLanding,
  declineLanding,
  type Landing,
  landingsTopic,
  listLandings,
  readLanding,
} from '../../review/index.ts';
import type { DecisionRequestRow } from '../../store/index.ts';
import type { VerdictRequest } from '../../wire/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';

/** How long an answer waits for the base to move before it says that it is under way. */
const landWithinMs = 20_000;

/** A human's answer to an offered candidate: the yes binds to candidate, base and head as they were shown. */
export async function settleLanding(
  ctx: AppContext,
  caller: Caller,
  decision: DecisionRequestRow,
  verdict: VerdictRequest,
): Promise<Result<{ message: string }>> {
  const { landingId, candidate, base, head } = JSON.parse(decision.detail) as {
    landingId: string;
    candidate: string;
    base: string;
    head: string;
  };
  if (verdict.verdict === 'refuse') {
    const declined = await once(ctx.store, caller, 'landing.decline', { landingId, note: verdict.note }, async (tx) => {
      const result = await declineLanding(tx, {
        landingId,
        actor: caller.actor,
        ...(verdict.note === undefined ? {} : { note: verdict.note }),
      });
      return result.ok ? ok({ state: result.value.pullRequest.state }) : result;
    });
    return declined.ok
      ? ok({ message: verdict.note ? 'Declined; the author gets your note.' : 'Declined; the change is held.' })
      : declined;
  }
  if (verdict.head !== undefined && verdict.head !== head) {
    return refuse(
      'wrong-state',
      'stale_head',
      `You have seen ${verdict.head.slice(0, 12)}, but the change is at ${head.slice(0, 12)} now. Look at it again.`,
      { head },
    );
  }
  const landed = await acceptAndWait(ctx, caller, { landingId, candidate, baseTip: base, headSha: head });
  if (!landed.ok) return landed;
  return ok({
    message:
      landed.value.state === 'landed'
        ? `Landed as ${landed.value.landedCommit?.slice(0, 12)}.`
        : landed.value.state === 'building'
          ? 'Accepted; the base had moved, and it lands when the candidate on the new one has passed its checks.'
          : 'Accepted; the base is being moved.',
  });
}

/**
 * Says yes and waits a little for the outcome. Where the base had moved, the same change on the new base is covered by the same
 * yes, and is waited for; another effect is a new question. Refuses `not-landed` when it failed or has to be looked at again.
 */
export async function acceptAndWait(
  ctx: AppContext,
  caller: Caller,
  yes: { landingId: string; candidate: string; baseTip: string; headSha: string },
): Promise<Result<Landing>> {
  const accepted = await once(ctx.store, caller, 'landing.accept', yes, async (tx) => {
    const result = await acceptLanding(tx, { ...yes, actor: caller.actor });
    return result.ok ? ok({ id: result.value.id }) : result;
  });
  if (!accepted.ok) return accepted;
  const landing = await waitForOutcome(ctx, yes.landingId);
  if (landing.state === 'offered') {
    return refuse(
      'not-landed',
      'look_again',
      'The base has moved, and on the new one the change is another: look at it again with `chantier pending`.',
      { landing: landing.id },
    );
  }
  if (landing.state === 'failed' || landing.state === 'withdrawn') {
    return refuse(
      'not-landed',
      landing.reason ?? 'landing_failed',
      `It did not land: ${landing.reason ?? landing.state}. See \`chantier pr show\`.`,
      { landing: landing.id },
    );
  }
  return ok(landing);
}

/** The end of the accepted landing, or of the one that took its place when its base had moved. */
async function waitForOutcome(ctx: AppContext, landingId: string): Promise<Landing> {
  const deadline = ctx.store.clock.monotonic() + landWithinMs;
  let landing = await waitForEnd(ctx, landingId, landWithinMs);
  while (landing.state === 'failed' && landing.reason === 'base_moved') {
    const leftMs = deadline - ctx.store.clock.monotonic();
    if (leftMs <= 0) return { ...landing, state: 'building' };
    const [newest = landing] = await listLandings(ctx.store.read, { pullRequestId: landing.pullRequestId, limit: 1 });
    if (newest.id === landing.id || newest.state === 'building') await nextMove(ctx, Math.min(leftMs, 500));
    else landing = newest.state === 'offered' ? newest : await waitForEnd(ctx, newest.id, leftMs);
  }
  return landing;
}

/** The landing once it has ended and what followed is known, or as it is when the time is over. */
export async function waitForEnd(ctx: AppContext, landingId: string, budgetMs: number): Promise<Landing> {
  const deadline = ctx.store.clock.monotonic() + budgetMs;
  for (;;) {
    const landing = await readLanding(ctx.store.read, landingId);
    if (!landing) throw new Error(`there is no landing ${landingId}`);
    const isOver = landing.endedAt !== null && (landing.state !== 'landed' || landing.aftermath !== null);
    const leftMs = deadline - ctx.store.clock.monotonic();
    if (isOver || leftMs <= 0) return landing;
    await nextMove(ctx, Math.min(leftMs, 500));
  }
}

function nextMove(ctx: AppContext, maxMs: number): Promise<void> {
  return new Promise((resolve) => {
    const end = (): void => {
      clearTimeout(timer);
      stop();
      resolve();
    };
    const stop = ctx.store.onWake(landingsTopic, end);
    const timer = setTimeout(end, maxMs);
  });
}
