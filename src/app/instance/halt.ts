import type { Actor } from '../../kernel/index.ts';
import type { Store, Tx } from '../../store/index.ts';

/** The big switch of `stop --all`: while it is on nothing is dispatched, landed or sent (design section 7). Survives restarts. */
export interface Halt {
  isOn(): boolean;
  /** Changes the switch; the rest of the server sees it after the commit. */
  set(tx: Tx, on: boolean, actor: Actor): Promise<void>;
}

/** Woken when the switch was changed. */
export const haltTopic = 'halt';

const key = 'instance.halted';

/** Reads the switch as it was left. */
export async function openHalt(store: Store): Promise<Halt> {
  let on = await readSwitch(store);
  store.onWake(haltTopic, () => {
    void readSwitch(store).then(
      (value) => (on = value),
      () => undefined, // a store that cannot be read stops dispatch by itself
    );
  });
  return {
    isOn: () => on,
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
      on = value;
      tx.wake(haltTopic);
    },
  };
}

async function readSwitch(store: Store): Promise<boolean> {
  const row = await store.read.selectFrom('setting').select('value').where('key', '=', key).executeTakeFirst();
  return row?.value === 'true';
}
