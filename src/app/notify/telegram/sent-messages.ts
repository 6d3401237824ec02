import { sha256 } from '../../../kernel/index.ts';
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

/**
 * Names a message in its own buttons. A server that is killed between sending and recording sends it a second time: the first one's
 * own number is known to nobody, and by this both are the same message.
 */
export function tagOf(key: string): string {
  return sha256(key).slice(0, 10);
}

/** The recorded copy of a message that carries this tag and is about this decision: its number, where it is known yet. */
export async function copyByTag(
  ctx: AppContext,
  owner: string,
  { decisionId, tag }: { decisionId: string; tag: string },
): Promise<{ messageId: number | undefined } | undefined> {
  const found = (await copiesAbout(ctx, owner, decisionId)).find(({ key }) => tagOf(key) === tag);
  return found && { messageId: found.remote_id === null ? undefined : Number(found.remote_id) };
}

/** What an unrecorded message of our bot was about, by the lines that we write and a text of somebody else cannot begin (its lines have bars). */
export async function decisionsOfText(ctx: AppContext, owner: string, text: string): Promise<string[] | undefined> {
  const ids = [...text.matchAll(/^(?:\d{1,2}\. )?([a-z0-9]{4,32})(?=:|$)/gm)].map((match) => match[1]!);
  const known: string[] = [];
  for (const id of ids) if ((await copiesAbout(ctx, owner, id)).length > 0) known.push(id);
  return known.length > 0 ? known : undefined;
}

/** Messages to this owner about a decision, those that are being sent included. */
async function copiesAbout(
  ctx: AppContext,
  owner: string,
  decisionId: string,
): Promise<{ key: string; remote_id: string | null }[]> {
  return ctx.store.read
    .selectFrom('notice_message')
    .select(['key', 'remote_id'])
    .where('target', '=', targetOf(owner))
    .where((eb) => eb.or([eb('decisions', 'like', `%"${decisionId}"%`), eb('notices', 'like', `%"${decisionId}"%`)]))
    .orderBy('created_at', 'desc')
    .execute();
}
