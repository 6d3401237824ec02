import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { openAppWorld } from '../../../test/app/app-context.ts';
import { commitAll, git, makeRepository, registerIn, syncBase, writeFiles } from '../../../test/repositories/index.ts';
import { detectRepository } from '../../forge/index.ts';
import { mustOk } from '../../kernel/index.ts';
import { closePullRequest, enterHumanReview, moveHead, readPullRequest } from '../../review/index.ts';
import { criticalRisk, humans, reviewWorld, server } from '../../review/testing.ts';
import { openTestSqlite } from '../../store/testing.ts';
import { decisionUseCases } from '../decisions/use-cases.ts';
import { reviewUseCases } from './use-cases.ts';

/** Two checkouts with a real change each, and their pull requests; both have number 1. */
async function setup(change: Record<string, string> = { 'a.txt': 'two\n' }) {
  const { store } = await openTestSqlite();
  const world = await openAppWorld(store);
  const review = reviewUseCases(world.ctx);
  const decisions = decisionUseCases(world.ctx);
  const reviewed = reviewWorld(store);
  const openIn = async (name: string) => {
    const checkout = makeRepository(join(world.folder, name), { 'a.txt': 'one\n' });
    const base = git(checkout, 'rev-parse', 'HEAD');
    const repository = await registerIn(store, world.forge, mustOk(await detectRepository(world.forge, checkout)));
    await syncBase(world.forge, repository);
    writeFiles(checkout, change);
    const head = commitAll(checkout, 'Change');
    await syncBase(world.forge, repository);
    const pullRequest = await reviewed.openOne({ repositoryId: repository.id, headSha: head, baseSha: base });
    await reviewed.assess(pullRequest, criticalRisk);
    return { repository, checkout, pullRequest: (await readPullRequest(store.read, pullRequest.id))!, head };
  };
  return { ...world, store, review, decisions, openIn, proven: () => world.caller('standing') };
}

describe('a human approves the head they saw (A6)', () => {
  it('refuses a yes without a head, and one to another head', async () => {
    const { review, openIn, proven } = await setup();
    const { pullRequest, head } = await openIn('one');
    const approve = (given?: string) =>
      review.humanAct(proven(), pullRequest.id, { act: 'approve', ...(given === undefined ? {} : { head: given }) });
    expect(await approve()).toMatchObject({ refusal: { kind: 'invalid', code: 'head_missing' } });
    expect(await approve('')).toMatchObject({ refusal: { code: 'head_missing' } });
    expect(await approve('0123456789')).toMatchObject({ refusal: { code: 'stale_head', facts: { head } } });
    expect(await approve(head.slice(0, 12))).toMatchObject({ ok: true, value: { state: 'approved' } });
  });

  it('refuses a yes to a head that was replaced after it was shown', async () => {
    const { store, review, decisions, openIn, proven } = await setup();
    const { pullRequest, head, checkout } = await openIn('one');
    const decision = mustOk(await decisions.list(proven(), { state: 'open', limit: 10 })).items[0]!;
    const later = git(checkout, 'rev-parse', 'HEAD~1');
    const moved = { pullRequestId: pullRequest.id, headSha: later, baseSha: later, patchId: 'p2' };
    const pushedBy = { kind: 'agent', contributor: 'turing', family: 'claude' } as const;
    mustOk(await store.tx((tx) => moveHead(tx, { ...moved, hasConflictResolution: false, pushedBy, actor: server })));
    const act = await review.humanAct(proven(), pullRequest.id, { act: 'approve', head });
    expect(act).toMatchObject({ refusal: { code: 'stale_head' } });
    const settled = await decisions.settle(proven(), decision.id, { verdict: 'approve', head });
    expect(settled.ok).toBe(false);
  });

  it('lands nothing without a head', async () => {
    const { review, openIn, proven } = await setup();
    const { pullRequest, head } = await openIn('one');
    expect(await review.land(proven(), pullRequest.id, { wait: true })).toMatchObject({
      refusal: { code: 'head_missing' },
    });
    expect(await review.land(proven(), pullRequest.id, { wait: true, head })).toMatchObject({
      refusal: { code: 'not_offered' },
    });
  });

  it('refuses a yes to what could not be shown whole, by each way, until it was read elsewhere (P5)', async () => {
    const { review, decisions, openIn, proven } = await setup({ 'big.txt': 'line of text\n'.repeat(100_000) });
    const { pullRequest, head } = await openIn('one');
    const act = { act: 'approve', head } as const;
    expect(await review.humanAct(proven(), pullRequest.id, act)).toMatchObject({
      refusal: { code: 'not_shown_whole', facts: { files: ['big.txt'] } },
    });
    const decision = mustOk(await decisions.list(proven(), { state: 'open', limit: 10 })).items[0]!;
    const yes = { verdict: 'approve', head: head.slice(0, 10) } as const;
    expect(await decisions.settle(proven(), decision.id, yes)).toMatchObject({ refusal: { code: 'not_shown_whole' } });
    expect(await decisions.settle(proven(), decision.id, { ...yes, isSeenWhole: true })).toMatchObject({ ok: true });
  });
});

describe('a number', () => {
  it('that two repositories have names neither, even when one of them is closed', async () => {
    const { store, review, openIn, proven } = await setup();
    const first = await openIn('one');
    const second = await openIn('two');
    expect([first.pullRequest.number, second.pullRequest.number]).toEqual([1, 1]);
    await store.tx((tx) =>
      closePullRequest(tx, { pullRequestId: second.pullRequest.id, reason: 'test', actor: server }),
    );
    const ids = [first.pullRequest.id, second.pullRequest.id];
    expect(await review.humanAct(proven(), '1', { act: 'approve', head: first.head })).toMatchObject({
      refusal: { code: 'ambiguous_number', facts: { ids } },
    });
    expect(await review.showPullRequest(proven(), ids[0]!)).toMatchObject({ ok: true });
  });
});

describe('a decision', () => {
  it('is approved by its id or its only subject, never by the session it came from', async () => {
    const { store, decisions, openIn, proven } = await setup();
    const { pullRequest } = await openIn('one');
    await store.tx((tx) =>
      enterHumanReview(tx, { pullRequestId: pullRequest.id, reason: 'test', humans, actor: server }),
    );
    await store.tx((tx) => tx.db.updateTable('decision_request').set({ session_id: 'session-1' }).execute());
    for (const verdict of ['approve', 'refuse'] as const) {
      expect(await decisions.settle(proven(), 'session-1', { verdict })).toMatchObject({
        refusal: { kind: 'invalid', code: 'decision_id_missing' },
      });
    }
    expect(await decisions.settle(proven(), 'session-1', { verdict: 'respond', text: 'x' })).toMatchObject({
      refusal: { code: 'unknown_decision' },
    });
    expect(await decisions.settle(proven(), pullRequest.id, { verdict: 'approve' })).toMatchObject({ ok: true });
  });
});
