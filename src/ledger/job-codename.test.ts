import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import { addJob } from './index.ts';
import { operator, refusedCode, world } from './testing.ts';

const payload = { codename: 'payments', title: 'Payments', tasks: [{ title: 'x', tokens_estimated: 1 }] };

eachStore((_dialect, open) => {
  it('gives a job’s codename once in a project, and again in another one (decision 4)', async () => {
    const { store } = await open();
    const one = await world(store);
    const add = (projectId: string) => (tx: Parameters<typeof addJob>[0]) =>
      addJob(tx, { projectId, payload, actor: operator });
    mustOk(await store.tx(add(one.projectId)));
    expect(await refusedCode(store, add(one.projectId))).toBe('validation_failed');
    const other = await world(store);
    expect((await store.tx(add(other.projectId))).ok).toBe(true);
  });
});
