import { type Actor, ok, refuse, type Result } from '../../kernel/index.ts';
import type { Store, Tx } from '../../store/index.ts';

/** The big switch of `stop --all`: while it is on nothing is dispatched, landed or sent (design section 7). Survives restarts. */
export interface Halt {
  /** As far as this process knows; for loops that look before they work. */
  isOn(): boolean;
  /** Asked inside every transaction that starts something: refuses `halted` while the switch is on or the server is ending. */
  guard(tx: Tx): Promise<Result<undefined>>;
  /** Changes the switch; loops see it after the commit. */
  set(tx: Tx, on: boolean, actor: Actor): Promise<void>;
  /** This server is ending and takes its agents along: nothing starts any more in this process. */
  beginClosing(): void;
}

/** Woken when the switch was changed. */
export const haltTopic = 'halt';

const key = 'instance.halted';

/** Reads the switch as it was left. */
export async function openHalt(store: Store): Promise<Halt> {
  let on = await readSwitch(store.read);
  let closing = false;
  store.onWake(haltTopic, () => {
    void readSwitch(store.read).then(
      (value) => (on = value),
      () => undefined, // a store that cannot be read stops everything by itself
    );
  });
  return {
    isOn: () => on || closing,
    async guard(tx) {
      if (!closing && !(await readSwitch(tx.db))) return ok();
      return refuse('wrong-state', 'halted', 'Everything was stopped. `chantier stop --go-on` lets it go on.');
    },
    async set(tx, value, actor) {
      const row = { value: JSON.stringify(value), updated_by: actor.id, updated_at: tx.now };
      await tx.db
        .insertInto('setting')
        .values({ key, ...row })
        .onConflict((conflict) => conflict.column('key').doUpdateSet(row))
        .execute();
      await tx.emit({
        kind: value ? 'instance.halted' : 'instance.resumed',
        actor,
        subject: { kind: 'instance', id: 'instance' },
      });
      tx.wake(haltTopic);
    },
    beginClosing: () => void (closing = true),
  };
}

async function readSwitch(db: Store['read']): Promise<boolean> {
  const row = await db.selectFrom('setting').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value === 'true';
}
