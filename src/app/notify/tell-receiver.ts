import { done, lookAgainIn, type PassContext, type PassOutcome } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { ChannelFault, type Receiver } from './channel.ts';
import { planMessage } from './plan-message.ts';
import { parseQuietHours } from './quiet-hours.ts';
import { dropMessage, recordFailure, recordSent, retireMessage } from './record-sending.ts';
import { writeLetter } from './write-letter.ts';

/** One message a second to one receiver: Telegram asks for no more in one chat. */
const betweenMessagesMs = 1_000;

/**
 * One pass over a receiver: the message that is due is written down, sent, and recorded. Killed between the last two, it is
 * sent again under its key (design 5). Goes on while everything is stopped: that is when a human wants to hear.
 */
export async function tellReceiver(ctx: AppContext, receiver: Receiver, pass: PassContext): Promise<PassOutcome> {
  const plan = await ctx.store.tx(async (tx) => {
    const fence = await pass.checkFence(tx);
    if (!fence.ok) return undefined;
    return planMessage(tx, {
      target: receiver.target,
      quiet: parseQuietHours(ctx.config.get('notify.quietHours'), ctx.config.get('notify.timeZone')),
      criticalInQuiet: ctx.config.get('notify.criticalInQuietHours'),
    });
  });
  if (!plan) return done;
  if ('waitMs' in plan) return lookAgainIn(plan.waitMs);
  const letter = await writeLetter(ctx, receiver, plan.message);
  if (!letter) {
    await ctx.store.tx((tx) => dropMessage(tx, plan.message));
    return lookAgainIn(1);
  }
  try {
    const { remoteId } = await receiver.send(letter, pass.signal);
    const sent = { decisions: letter.decisions, ...(remoteId === undefined ? {} : { remoteId }) };
    await ctx.store.tx((tx) => recordSent(tx, plan.message, sent));
    return lookAgainIn(betweenMessagesMs);
  } catch (error) {
    if (pass.signal.aborted) return done;
    if (!(error instanceof ChannelFault)) throw error;
    ctx.log.warn({ target: receiver.target, code: error.code }, 'a message did not arrive');
    await ctx.store.tx(async (tx) => {
      await recordFailure(tx, receiver.target, error);
      // Sent again it would be refused again, and others wait behind it.
      if (error.code === 'message_rejected') await retireMessage(tx, plan.message);
    });
    return lookAgainIn(error.retryAfterMs ?? betweenMessagesMs);
  }
}
