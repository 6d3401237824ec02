import type { AppContext } from '../../context.ts';
import { targetOf } from '../channel.ts';

/** The decisions that a message in the owner's own chat was sent about; `undefined` for a message that is not ours. */
export async function decisionsOfMessage(
  ctx: AppContext,
  owner: string,
  messageId: number,
): Promise<string[] | undefined> {
  const row = await ctx.store.read
    .selectFrom('notice_message')
    .select('decisions')
    .where('target', '=', targetOf(owner))
    .where('remote_id', '=', String(messageId))
    .where('state', '=', 'sent')
    .executeTakeFirst();
  return row && (JSON.parse(row.decisions) as string[]);
}

/** Whether a message about this decision was shown in the owner's chat. */
export async function wasShown(ctx: AppContext, owner: string, decisionId: string): Promise<boolean> {
  const row = await ctx.store.read
    .selectFrom('notice_message')
    .select('key')
    .where('target', '=', targetOf(owner))
    .where('state', '=', 'sent')
    // Ids are letters and digits of our own making.
    .where('decisions', 'like', `%"${decisionId}"%`)
    .executeTakeFirst();
  return row !== undefined;
}
