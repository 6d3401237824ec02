import { expect, it } from 'vitest';

import { toRfc3339 } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { storePlanWindow } from './plan-window.ts';

eachStore((_dialect, open) => {
  it('what an agent says of its plan is bounded: names, ends and how many (sessions decision 7)', async () => {
    const { store, clock } = await open();
    const say = (name: string, resetsAtMs?: number) =>
      store.tx((tx) =>
        storePlanWindow(tx, { agent: 'turing', name, share: 1, ...(resetsAtMs === undefined ? {} : { resetsAtMs }) }),
      );
    for (const name of ['', 'a\u0000b', '\u001b[2J', 'x'.repeat(41)]) await say(name);
    await say('five_hour', 9_000_000_000_000_000);
    for (let n = 0; n < 20; n += 1) await say(`window-${n}`);
    await say('five_hour', 9_000_000_000_000_000);
    const rows = await store.read.selectFrom('plan_window').selectAll().execute();
    expect(rows).toHaveLength(8);
    const [first] = rows.filter((row) => row.name === 'five_hour');
    expect(toRfc3339(first!.resets_at!)).toBe(toRfc3339(clock.now() + 32 * 86_400_000));
  });
});
