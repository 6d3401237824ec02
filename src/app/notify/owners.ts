import { type Actor, ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import type { Tx } from '../../store/index.ts';
import type { OwnerView } from '../../wire/index.ts';
import type { Db } from '../dispatch/db.ts';
import { targetOf } from './channel.ts';
import { notifyTopic } from './record-sending.ts';

/** A Telegram user who decides as an operator. */
export interface Owner {
  telegramId: string;
  userId: string;
  name: string;
}

/** Everyone on the owner list whose operator may still log in. */
export async function listOwners(db: Db): Promise<(Owner & { addedBy: string; createdAt: number })[]> {
  const rows = await db
    .selectFrom('telegram_owner')
    .innerJoin('user_account', 'user_account.id', 'telegram_owner.user_id')
    .select([
      'telegram_owner.telegram_id',
      'telegram_owner.user_id',
      'telegram_owner.added_by',
      'telegram_owner.created_at',
      'user_account.name',
    ])
    .where('user_account.role', '=', 'operator')
    .where('user_account.disabled_at', 'is', null)
    .orderBy('telegram_owner.telegram_id')
    .execute();
  return rows.map((row) => ({
    telegramId: row.telegram_id,
    userId: row.user_id,
    name: row.name,
    addedBy: row.added_by,
    createdAt: row.created_at,
  }));
}

/** The owner with this numeric id. Names, aliases and what a text says about its author count for nothing. */
export async function findOwner(db: Db, telegramId: string): Promise<Owner | undefined> {
  return (await listOwners(db)).find((owner) => owner.telegramId === telegramId);
}

/** Puts a Telegram user on the owner list. Refuses an id that is no number and an operator that does not exist. */
export async function addOwner(
  tx: Tx,
  owner: { telegramId: string; operator?: string | undefined },
  actor: Actor,
): Promise<Result<OwnerView>> {
  if (!/^[1-9]\d{0,18}$/.test(owner.telegramId))
    return refuse(
      'invalid',
      'invalid_telegram_id',
      'A Telegram id is a number: write /whoami to your bot to learn yours.',
    );
  const user = await tx.db
    .selectFrom('user_account')
    .select(['id', 'name'])
    .where('role', '=', 'operator')
    .where('disabled_at', 'is', null)
    .where(owner.operator === undefined ? 'id' : 'name', '=', owner.operator?.toLowerCase() ?? actor.id)
    .executeTakeFirst();
  if (!user)
    return refuse('not-found', 'unknown_operator', `There is no operator ${owner.operator ?? actor.id}.`, {
      operator: owner.operator ?? actor.id,
    });
  const row = { user_id: user.id, added_by: actor.id, created_at: tx.now };
  await tx.db
    .insertInto('telegram_owner')
    .values({ telegram_id: owner.telegramId, ...row })
    .onConflict((conflict) => conflict.column('telegram_id').doUpdateSet(row))
    .execute();
  await tx.emit({
    kind: 'notify.owner-added',
    actor,
    subject: { kind: 'telegram-user', id: owner.telegramId },
    facts: { user: user.id },
  });
  tx.wake(notifyTopic);
  return ok({
    telegramId: owner.telegramId,
    operator: user.name,
    addedBy: actor.id,
    createdAt: toRfc3339(tx.now),
  });
}

/** Takes a Telegram user off the list, with what it was still to be told. */
export async function removeOwner(tx: Tx, telegramId: string, actor: Actor): Promise<Result<{ removed: boolean }>> {
  const gone = await tx.db.deleteFrom('telegram_owner').where('telegram_id', '=', telegramId).returningAll().execute();
  if (gone.length === 0) return ok({ removed: false });
  await forgetTarget(tx, targetOf(telegramId));
  await tx.emit({ kind: 'notify.owner-removed', actor, subject: { kind: 'telegram-user', id: telegramId } });
  tx.wake(notifyTopic);
  return ok({ removed: true });
}

/** Forgets what a receiver was told and how it did. */
export async function forgetTarget(tx: Tx, target: string): Promise<void> {
  await tx.db.deleteFrom('notice').where('target', '=', target).execute();
  await tx.db.deleteFrom('notice_message').where('target', '=', target).execute();
  await tx.db.deleteFrom('notify_target').where('target', '=', target).execute();
}
