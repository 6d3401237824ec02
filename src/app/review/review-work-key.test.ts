import { expect, it } from 'vitest';

import { reviewWorld } from '../../review/testing.ts';
import { fields } from '../../sessions/index.ts';
import type { Schema } from '../../store/index.ts';
import { eachStore } from '../../store/testing.ts';
import { reviewWorkKey } from './review-work-key.ts';

eachStore((_dialect, open) => {
  it('S-59: reviews of pull requests with one number in several repositories have work keys of their own', async () => {
    const { store, clock } = await open();
    const reviewed = reviewWorld(store);
    const names = { first: 'shop', second: 'shop', third: 'naïve  "repo"', fourth: '日本語', fifth: 'x'.repeat(100) };
    await store.tx((tx) =>
      tx.db
        .insertInto('repository')
        .values(Object.entries(names).map(([id, name]) => repositoryRow(id, name)))
        .execute(),
    );
    const keys: string[] = [];
    for (const [id, name] of Object.entries(names)) {
      clock.advance(1);
      const pullRequest = await reviewed.openOne({ repositoryId: id });
      expect(pullRequest.number).toBe(1);
      keys.push(await store.tx((tx) => reviewWorkKey(tx, { id, name } as never, pullRequest, 2)));
    }
    expect(keys[0]).toBe('pr-1/r2');
    expect(keys[1]).toMatch(/^pr-shop-[A-Za-z0-9]{8}-1\/r2$/);
    expect(keys[2]).toBe('pr-na-ve-repo-1/r2');
    for (const key of keys) expect(fields.workKey(key)).toMatchObject({ ok: true });
    expect(new Set(keys).size).toBe(keys.length);
  });
});

/** A row of which only id and name count here. */
function repositoryRow(id: string, name: string): Schema['repository'] {
  const row: Partial<Schema['repository']> = {
    id,
    name,
    operator_path: `/${id}`,
    operator_git_dir: `/${id}/.git`,
    base: 'main',
    mode: 'base',
    forge_dir: `/forge/${id}`,
    config: '{}',
    config_source: 'inferred',
    config_digest: '',
    next_branch_number: 1,
    created_at: 0,
    updated_at: 0,
  };
  return row as Schema['repository'];
}
