import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { deliver, judge, openWorld, type Step } from '../app/world.ts';

const first: Step[] = deliver('greeting.txt', 'hello FIXME\n');
const mended: Step[] = deliver('greeting.txt', 'hello mars\n');

test('a limited reviewer goes on an hour later with its claim; what its home links to is not touched, and the change goes back to the same conversation (design 7)', async () => {
  const world = await openWorld();
  const target = join(world.folder, 'precious');
  writeFileSync(target, 'precious\n');
  const run = await world.run(world.checkout(), 'Greet', {
    author: [first, mended],
    reviewer: [[['makeFolder', 'review'], ['link', target, 'review/change.patch'], ['limit']], judge('greeting.txt')],
  });
  const limited = await world.session(run, 'reviewer', (one) => one.state === 'PAUSED');
  expect(limited.flags.limitedUntil).not.toBeNull();
  await world.until('the process to be gone', async () => {
    const [row] = await world.sessions(run, 'reviewer');
    return row?.pid === null;
  });
  await world.pass(3_600_000);
  const mends = await world.until('the author to go on', async () => {
    const authors = await world.sessions(run, 'author');
    return authors[1]?.state === 'DONE' && authors[1];
  });
  expect(await world.said(mends.id)).toContain('turn 2 of this conversation');
  const [reviewer] = await world.sessions(run, 'reviewer');
  expect(reviewer).toMatchObject({ id: limited.id, generation: 2, state: 'DONE' });
  expect((await world.pull(run)).verdicts).toMatchObject([{ verdict: 'request_changes' }]);
  expect(readFileSync(target, 'utf8')).toBe('precious\n');
});

test('a reviewer that ends its turns without a verdict was no review: it counts as no_verdict, the next family is asked, then a human (R-36, scenario 11)', async () => {
  const reviewers = [
    { codename: 'mitnick', family: 'codex' },
    { codename: 'hopper', family: 'gemini' },
  ];
  const world = await openWorld({ reviewers });
  const run = await world.run(world.checkout(), 'Greet', { author: [mended], reviewer: [[['say', 'hm']]] });
  const asked = await world.decision(run, 'human_review');
  expect(asked.detail).toMatchObject({ reason: 'reviewers_failed' });
  const claims = await world.ctx.store.read
    .selectFrom('review_claim')
    .select(['end_reason', 'reviewer'])
    .orderBy('created_at')
    .execute();
  expect(claims.map((claim) => claim.end_reason)).toEqual(claims.map(() => 'no_verdict'));
  expect(new Set(claims.map((claim) => claim.reviewer)).size).toBe(2);
});
