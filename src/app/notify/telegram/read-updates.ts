import type { Update } from 'grammy/types';

import { lookAgainIn, type PassOutcome, type Store } from '../../../store/index.ts';
import type { AppContext } from '../../context.ts';
import { ChannelFault, readingTarget } from '../channel.ts';
import { ensureTarget } from '../plan-message.ts';
import { recordFailure, recordReached } from '../record-sending.ts';
import type { Conversation } from './conversation.ts';
import { handleUpdate } from './handle-update.ts';

/** How long one look waits for news. */
const waitSeconds = 25;
/** An update whose handling fails by a fault of ours is left aside after so many tries, over restarts. */
const maxTries = 3;
/** After a week without updates Telegram begins its numbers anew, anywhere. */
const numbersLastMs = 6 * 24 * 60 * 60 * 1000;

/** How far the updates were handled; survives the process. */
interface Place {
  /** The next `update_id` to ask for; 0 = whatever is there. */
  offset: number;
  at: number;
  /** Failed tries at `offset`. */
  tries: number;
}

/** One look: waits for updates and handles each, remembering after each how far it came. */
export async function readUpdates(talk: Conversation): Promise<PassOutcome> {
  const { ctx, bot, signal } = talk;
  const waitMs = await waitOf(ctx);
  if (waitMs > 0) return lookAgainIn(waitMs);
  let updates: Update[];
  try {
    const place = await readPlace(ctx.store, bot.botId);
    const isOld = Math.abs(ctx.store.clock.now() - place.at) > numbersLastMs;
    updates = await bot.getUpdates(isOld ? 0 : place.offset, waitSeconds, signal);
  } catch (error) {
    if (signal.aborted) return lookAgainIn(0);
    if (!(error instanceof ChannelFault)) throw error;
    await ctx.store.tx((tx) => recordFailure(tx, readingTarget, error));
    ctx.log.warn({ code: error.code }, 'Telegram could not be read');
    return lookAgainIn(1);
  }
  await rememberReached(ctx);
  for (const update of updates) {
    if (signal.aborted) break;
    await handleOnce(talk, update);
  }
  return lookAgainIn(0);
}

async function handleOnce(talk: Conversation, update: Update): Promise<void> {
  const { ctx, bot } = talk;
  const place = await readPlace(ctx.store, bot.botId);
  const tries = place.offset === update.update_id ? place.tries : 0;
  try {
    if (tries < maxTries) await handleUpdate(talk, update);
    else ctx.log.error({ update: update.update_id }, 'an update of Telegram was left aside');
  } catch (error) {
    const here = { offset: update.update_id, at: ctx.store.clock.now(), tries: tries + 1 };
    await writePlace(ctx.store, bot.botId, here);
    throw error;
  }
  await writePlace(ctx.store, bot.botId, { offset: update.update_id + 1, at: ctx.store.clock.now(), tries: 0 });
}

async function waitOf(ctx: AppContext): Promise<number> {
  const row = await ctx.store.tx((tx) => ensureTarget(tx, readingTarget));
  const waitMs = row.retry_at === null ? 0 : row.retry_at - ctx.store.clock.now();
  // Longer than any wait of ours: written by a clock that ran ahead.
  return waitMs > 3_600_000 ? 0 : waitMs;
}

/** Not at each look: once a minute is enough to see that it works. */
async function rememberReached(ctx: AppContext): Promise<void> {
  await ctx.store.tx(async (tx) => {
    const row = await ensureTarget(tx, readingTarget);
    const age = tx.now - (row.last_ok_at ?? 0);
    if (row.failures > 0 || row.retry_at !== null || age > 60_000 || age < 0) await recordReached(tx, readingTarget);
  });
}

/** For each bot its own: the numbers of another bot mean nothing. */
const placeKey = (botId: string): string => `notify.telegram.${botId}`;

async function readPlace(store: Store, botId: string): Promise<Place> {
  const row = await store.read
    .selectFrom('setting')
    .select('value')
    .where('key', '=', placeKey(botId))
    .executeTakeFirst();
  return row ? (JSON.parse(row.value) as Place) : { offset: 0, at: store.clock.now(), tries: 0 };
}

async function writePlace(store: Store, botId: string, place: Place): Promise<void> {
  await store.tx(async (tx) => {
    const row = { value: JSON.stringify(place), updated_by: 'notify', updated_at: tx.now };
    await tx.db
      .insertInto('setting')
      .values({ key: placeKey(botId), ...row })
      .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
      .execute();
  });
}
