import { expect, it } from 'vitest';

import { isRefused, mustOk, ok, statesBefore } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { type CapabilityStatus, capabilityMoves } from './capability.ts';
import { holdCapability, moveStatus, readCapability } from './capability-store.ts';
import { approveCapability, refuseCapability } from './index.ts';
import { judge, makeWorkFolder, operator, serverCall } from './testing.ts';

const human = { actor: operator, phase: 3, hasFreshProof: true } as const;
const statuses = Object.keys(capabilityMoves) as CapabilityStatus[];
/** All but `provisional`, which a capability can only begin in. */
const targets = statuses.filter((to) => statesBefore(capabilityMoves, to).length > 0);

eachStore((_dialect, open) => {
  it('moves a capability as the table says and refuses every other move without a trace (G-5, all pairs)', async () => {
    const { store } = await open();
    const folder = makeWorkFolder();
    const make = async (status: CapabilityStatus, name: string): Promise<string> => {
      const annotations = { destructiveHint: status === 'blocked' };
      const { capabilityId = '' } = await judge(store, serverCall(folder, { name, annotations }));
      const decide = { approved: approveCapability, refused: refuseCapability }[status as 'approved' | 'refused'];
      if (decide) mustOk(await store.tx((tx) => decide(tx, { ...human, capabilityId })));
      return capabilityId;
    };
    expect(targets).toEqual(['approved', 'refused', 'blocked']);
    for (const from of statuses) {
      for (const to of targets) {
        const id = await make(from, `${from}-${to}`);
        const before = await readCapability(store.read, id);
        expect([from, before?.status]).toEqual([from, from]);
        const answer = await store.tx(async (tx) => {
          const moved = await moveStatus(tx, (await holdCapability(tx, id))!, {
            to,
            actor: operator,
            reason: 'test',
            decidedBy: 'olga',
          });
          return isRefused(moved) ? moved : ok(moved);
        });
        expect([from, to, answer.ok]).toEqual([from, to, capabilityMoves[from].includes(to)]);
        const after = await readCapability(store.read, id);
        if (answer.ok) expect(after?.status).toBe(to);
        else expect(after).toEqual(before);
      }
    }
  });
});
