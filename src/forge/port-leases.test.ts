import { createServer } from 'node:net';

import { expect, onTestFinished, test } from 'vitest';

import { systemActor } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { leasePorts, portsOf, releasePorts } from './index.ts';

const actor = systemActor('test');

eachStore((_dialect, open) => {
  test('two folders that start at once never get the same port (sessions case 69)', async () => {
    const { store } = await open();
    const names = ['web', 'api'];
    // Owners whose first choice is the same number, which is the race that was lost elsewhere.
    const both = await Promise.all(
      ['Aa', 'BB', 'Aa-2', 'BB-2'].map((ownerKey) => leasePorts(store, { ownerKey, names, actor })),
    );
    const given = both.flatMap((ports) => Object.values(ports));
    expect(given).toHaveLength(12);
    expect(new Set(given).size).toBe(12);
    expect(Object.keys(both[0]!)).toEqual(['default', 'web', 'api']);
    const again = await leasePorts(store, { ownerKey: 'Aa', names, actor });
    expect(again).toEqual(both[0]);
  });

  test('a port that another program listens on is passed over; a released one is given again (sessions decision 9)', async () => {
    const { store } = await open();
    const first = await leasePorts(store, { ownerKey: 'folder', names: [], actor });
    await store.tx((tx) => releasePorts(tx, 'folder'));
    expect(await portsOf(store.read, 'folder')).toEqual({});
    expect(await leasePorts(store, { ownerKey: 'folder', names: [], actor })).toEqual(first);
    await store.tx((tx) => releasePorts(tx, 'folder'));
    const foreign = createServer();
    await new Promise<void>((done) => foreign.listen(first.default, '127.0.0.1', done));
    onTestFinished(() => void foreign.close());
    const other = await leasePorts(store, { ownerKey: 'folder', names: [], actor });
    expect(other.default).not.toBe(first.default);
  });
});
