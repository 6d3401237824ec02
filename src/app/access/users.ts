import { type Actor, newId, ok, type OperatorId, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import type { Schema, Store, Tx } from '../../store/index.ts';
import type { UserView } from '../../wire/index.ts';
import { hashPassphrase, matchesPassphrase } from './passphrase.ts';
import { forgiveFailures, takeAttempt } from './throttle.ts';

type UserRow = Schema['user_account'];

/** What a new user needs; the passphrase has 8 to 1 024 characters. */
export interface NewUser {
  name: string;
  role: 'operator' | 'viewer';
  passphrase: string;
}

/** Whether anybody could decide; without an operator nothing starts (design 4 "First run"). */
export async function hasOperator(store: Store): Promise<boolean> {
  const row = await store.read
    .selectFrom('user_account')
    .select('id')
    .where('role', '=', 'operator')
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  return row !== undefined;
}

/**
 * Adds a user. With `firstOnly`, refuses `wrong-state` when an operator exists already: that is how the very first one is
 * made without a proof. Refuses `duplicate` for a name that is taken, `invalid` for a bad name or a short passphrase.
 */
export async function addUser(
  store: Store,
  user: NewUser,
  actor: Actor,
  options: { firstOnly?: boolean; cost?: number | undefined; inTx?: (tx: Tx) => Promise<Result<undefined>> } = {},
): Promise<Result<UserView>> {
  const fault = userFault(user);
  if (fault) return refuse('invalid', 'invalid_user', fault);
  const passphraseHash = await hashPassphrase(user.passphrase, options.cost);
  return store.tx(async (tx) => {
    if (options.firstOnly && (await operatorCount(tx)) > 0) {
      return refuse('wrong-state', 'operator_exists', 'An operator exists already; log in with the passphrase.');
    }
    const early = await options.inTx?.(tx);
    if (early && !early.ok) return early;
    const row: UserRow = {
      id: newId<OperatorId>(),
      name: user.name.toLowerCase(),
      role: user.role,
      passphrase_hash: passphraseHash,
      created_by: actor.id,
      created_at: tx.now,
      disabled_at: null,
    };
    const inserted = await tx.db
      .insertInto('user_account')
      .values(row)
      .onConflict((conflict) => conflict.column('name').doNothing())
      .returning('id')
      .executeTakeFirst();
    if (!inserted)
      return refuse('duplicate', 'user_exists', `There is a user ${row.name} already.`, { name: row.name });
    await tx.emit({ kind: 'user.created', actor, subject: { kind: 'user', id: row.id }, facts: { role: row.role } });
    return ok(viewOf(row));
  });
}

/** Every user who may log in. */
export async function listUsers(store: Store): Promise<UserView[]> {
  const rows = await store.read
    .selectFrom('user_account')
    .selectAll()
    .where('disabled_at', 'is', null)
    .orderBy('name')
    .execute();
  return rows.map(viewOf);
}

/**
 * The user whose passphrase it is. Without a name, the only operator there is. Wrong names and wrong passphrases are one refusal.
 * Each failure counts against the name at its way in, and all names that nobody has count as one: made-up names fill neither the
 * store nor, with guesses side by side, the memory.
 */
export async function verifyPassphrase(
  store: Store,
  attempt: { name?: string | undefined; passphrase: string; way: string },
): Promise<Result<UserRow>> {
  const name = (attempt.name ?? (await onlyOperatorName(store)) ?? 'operator').toLowerCase();
  const user = await store.read
    .selectFrom('user_account')
    .selectAll()
    .where('name', '=', name)
    .where('disabled_at', 'is', null)
    .executeTakeFirst();
  const bucket = user ? `${attempt.way}:${user.name}` : `${attempt.way}: nobody`;
  const attemptTaken = await takeAttempt(store, bucket);
  if (!attemptTaken.ok) return attemptTaken;
  if (!(await matchesPassphrase(attempt.passphrase, user?.passphrase_hash)) || !user) {
    return refuse('not-permitted', 'wrong_passphrase', 'The name or the passphrase is wrong.');
  }
  await forgiveFailures(store, bucket);
  return ok(user);
}

async function operatorCount(tx: Tx): Promise<number> {
  const rows = await tx.db
    .selectFrom('user_account')
    .select('id')
    .where('role', '=', 'operator')
    .where('disabled_at', 'is', null)
    .execute();
  return rows.length;
}

async function onlyOperatorName(store: Store): Promise<string | undefined> {
  const rows = await store.read
    .selectFrom('user_account')
    .select('name')
    .where('role', '=', 'operator')
    .where('disabled_at', 'is', null)
    .limit(2)
    .execute();
  return rows.length === 1 ? rows[0]?.name : undefined;
}

function userFault(user: NewUser): string | undefined {
  if (!/^[a-z0-9][a-z0-9._-]{0,63}$/i.test(user.name))
    return 'A name has 1 to 64 letters, digits, dots, dashes or underscores.';
  const length = [...user.passphrase].length;
  if (length < 8 || length > 1024) return `A passphrase has 8 to 1024 characters, this one has ${length}.`;
  return undefined;
}

function viewOf(row: UserRow): UserView {
  return { id: row.id, name: row.name, role: row.role, createdAt: toRfc3339(row.created_at) };
}
