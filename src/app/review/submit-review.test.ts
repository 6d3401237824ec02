import { join } from 'node:path';

import { expect, it } from 'vitest';

import { openAppWorld } from '../../../test/app/app-context.ts';
import { makeRepository, registerIn } from '../../../test/repositories/index.ts';
import { detectRepository } from '../../forge/index.ts';
import { mustOk, newId } from '../../kernel/index.ts';
import { readPullRequest } from '../../review/index.ts';
import { reviewWorld } from '../../review/testing.ts';
import type { TokenHolder } from '../../sessions/index.ts';
import { openTestSqlite } from '../../store/testing.ts';
import { humansOf, submitReview } from './submit-review.ts';

/** Operators ada and bob (disabled), and a repository whose configuration names `humans`. */
async function setup(humans: readonly string[] | undefined) {
  const { store } = await openTestSqlite();
  const world = await openAppWorld(store);
  await store.tx((tx) =>
    tx.db
      .insertInto('user_account')
      .values(
        ['ada', 'bob'].map((name) => ({
          id: newId(),
          name,
          role: 'operator' as const,
          passphrase_hash: '',
          created_by: 'test',
          created_at: tx.now,
          disabled_at: name === 'bob' ? tx.now : null,
        })),
      )
      .execute(),
  );
  const review = humans === undefined ? '' : `review: { humans: ${JSON.stringify(humans)} }\n`;
  const checkout = makeRepository(join(world.folder, 'one'), {
    'a.txt': 'one\n',
    'chantier.yml': `version: 1\nchecks: none\n${review}`,
  });
  const repository = await registerIn(store, world.forge, mustOk(await detectRepository(world.forge, checkout)));
  return { ...world, store, repository };
}

it('R-22: a reviewer that cannot go on hands over to the humans whom the repository names, not to every operator', async () => {
  const { ctx, store, repository, caller } = await setup(['carol']);
  const reviewed = reviewWorld(store);
  const pullRequest = await reviewed.opened({ repositoryId: repository.id, maxRounds: 1 });
  await store.tx((tx) => tx.db.updateTable('pull_request').set({ rounds: 1 }).execute());
  const claim = await reviewed.claim(pullRequest);
  const holder = { sessionId: claim.sessionId, generation: claim.generation } as TokenHolder;
  const finding = { file: 'src/a.ts', line: 1, text: 'wrong', scenario: 'fails always' };
  const verdict = { verdict: 'request_changes' as const, summary: 'no', findings: [finding], coverage: ['src/a.ts'] };
  mustOk(await submitReview(ctx, caller(), holder, verdict));
  expect(await readPullRequest(store.read, pullRequest.id)).toMatchObject({ state: 'hitl', hitlReviewers: ['carol'] });
});

it('R-23: humans are the operators who may still log in, and `operator` stands for them', async () => {
  const { ctx } = await setup(undefined);
  expect(await humansOf(ctx)).toEqual(['ada']);
  expect(await humansOf(ctx, ['operator', 'carol'])).toEqual(['ada', 'carol']);
  expect(await humansOf(ctx, [])).toEqual([]);
});
