import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { SettingName, SettingValue } from '../../config/index.ts';
import type { Store, Tx } from '../../store/index.ts';
import type { SettingView } from '../../wire/index.ts';
import { requireProof } from '../access/index.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { once } from '../once.ts';

const prefix = 'config.';

/** The values that operators have set, by name; unknown names of an older version are left out by the caller. */
export async function readStoredSettings(store: Store): Promise<Map<string, SettingValue>> {
  const rows = await store.read
    .selectFrom('setting')
    .select(['key', 'value'])
    .where('key', 'like', `${prefix}%`)
    .execute();
  return new Map(rows.map((row) => [row.key.slice(prefix.length), JSON.parse(row.value) as SettingValue]));
}

/** Woken when settings were changed and hold. */
export const settingsTopic = 'settings';

/** Changes one setting of the instance, with the proof it asks for (design section 4). */
export async function changeSetting(
  ctx: AppContext,
  caller: Caller,
  name: string,
  given: SettingValue,
): Promise<Result<SettingView>> {
  const judged = ctx.config.judgeChange(name, given);
  if (!judged.ok) return judged;
  const { change, value } = judged.value;
  if (change === 'restart-only') {
    return refuse(
      'wrong-state',
      'restart_only',
      `${name} can only be set by the environment or the command line at the next start.`,
      { setting: name },
    );
  }
  if (change !== 'operator') {
    const proof = requireProof(caller, change === 'fresh-proof' ? 'lower-safety-setting' : 'decide');
    if (!proof.ok) return proof;
  }
  const stored = await once(ctx.store, caller, 'setting.change', { name, value }, async (tx) => {
    await storeSetting(tx, caller, judged.value.name, value);
    return ok({ name });
  });
  if (!stored.ok) return stored;
  await takeUpSettings(ctx);
  return ok(settingView(ctx, judged.value.name));
}

/** Writes the value with its event; `takeUpSettings` makes it hold after the commit. */
export async function storeSetting(
  tx: Tx,
  caller: Pick<Caller, 'actor'>,
  name: string,
  value: SettingValue,
): Promise<void> {
  const row = { value: JSON.stringify(value), updated_by: caller.actor.id, updated_at: tx.now };
  await tx.db
    .insertInto('setting')
    .values({ key: `${prefix}${name}`, ...row })
    .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
    .execute();
  await tx.emit({
    kind: 'instance.configured',
    actor: caller.actor,
    subject: { kind: 'setting', id: name },
    facts: { value: value },
  });
}

/** The stored settings hold from now on: memory first, then whoever waited for them looks again. */
export async function takeUpSettings(ctx: AppContext): Promise<void> {
  ctx.config.setStored(await readStoredSettings(ctx.store));
  await ctx.store.tx(async (tx) => tx.wake(settingsTopic));
}

export function settingView(ctx: AppContext, name: SettingName): SettingView {
  return ctx.config.show(name);
}
