import { expect, it } from 'vitest';

import { eachStore } from '../store/testing.ts';
import { limitAccount } from './account-limits.ts';

eachStore((_dialect, open) => {
  it('a limit that ends at a fraction of a millisecond is stored, not a fault that holds up its session (design 7)', async () => {
    const { store, clock } = await open();
    const untilMs = clock.now() + 34_074.824224;
    const until = await store.tx((tx) =>
      limitAccount(tx, 'log-in:gemini-cli', { kind: 'limit', reason: 'rate', untilMs, asserted: false }),
    );
    expect(until).toBe(clock.now() + 34_075);
  });
});
