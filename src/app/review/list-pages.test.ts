import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { closePullRequest, type PullRequest } from '../../review/index.ts';
import { reviewWorld, server } from '../../review/testing.ts';
import { eachStore } from '../../store/testing.ts';
import { pageOfLandings, pageOfPullRequests } from './list-pages.ts';
import { readTail } from './read-tail.ts';

eachStore((_dialect, open) => {
  it('pages pull requests by state, open ones and cursor, each of them once, also where they are equally old', async () => {
    const { store, clock } = await open();
    const world = reviewWorld(store);
    const opened: PullRequest[] = [];
    for (let i = 0; i < 7; i += 1) {
      if (i % 3 === 0) clock.advance(1);
      opened.push(await world.openOne({ repositoryId: i < 5 ? 'one' : 'two' }));
    }
    mustOk(
      await store.tx((tx) => closePullRequest(tx, { pullRequestId: opened[0]!.id, reason: 'test', actor: server })),
    );
    const all = async (filter: Parameters<typeof pageOfPullRequests>[1]): Promise<string[]> => {
      const ids: string[] = [];
      for (let cursor: string | undefined; ;) {
        const page = await pageOfPullRequests({ store }, filter, { limit: 2, cursor });
        expect(page.items.length).toBeLessThanOrEqual(2);
        ids.push(...page.items.map((one) => one.id));
        if (page.nextCursor === null) return ids;
        cursor = page.nextCursor;
      }
    };
    const sorted = opened.toSorted((a, b) => a.createdAt - b.createdAt || (a.id < b.id ? -1 : 1)).map((one) => one.id);
    expect(await all({})).toEqual(sorted);
    expect(await all({ isOpen: true })).toEqual(sorted.filter((id) => id !== opened[0]!.id));
    expect(await all({ states: ['closed', 'restarted'] })).toEqual([opened[0]!.id]);
    expect(await all({ repositoryId: 'two' })).toHaveLength(2);
  });

  it('pages landings, newest first', async () => {
    const { store, clock } = await open();
    const world = reviewWorld(store);
    const made: string[] = [];
    for (let i = 0; i < 3; i += 1) {
      clock.advance(1);
      made.unshift(mustOk(await world.start(await world.approved())).id);
    }
    const first = await pageOfLandings({ store }, { limit: 2 });
    expect(first.items.map((one) => one.id)).toEqual(made.slice(0, 2));
    expect(first.nextCursor).toBe(made[1]);
    const second = await pageOfLandings({ store }, { limit: 2, cursor: first.nextCursor! });
    expect(second).toMatchObject({ items: [{ id: made[2] }], nextCursor: null });
  });
});

it('reads only the end of a long log', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-tail-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const file = join(folder, 'check.log');
  writeFileSync(file, `${'x'.repeat(100_000)}the end`);
  expect(await readTail(file, 7)).toBe('the end');
  writeFileSync(file, 'short');
  expect(await readTail(file, 8192)).toBe('short');
  expect(await readTail(join(folder, 'none'), 8192)).toBeNull();
});
