import { expect, it } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { askHuman, waitAnswer } from '../agent-side/ask-human.ts';
import { answerPermission } from '../permissions.ts';
import { findByToken, type TokenHolder } from '../session-store.ts';
import { tellSession, waitPrompt } from '../tell-session.ts';
import { caller, operator } from '../testing.ts';
import { readTranscript } from '../transcript.ts';
import { type SupervisedWorld, supervisedWorld } from './testing.ts';

const brief = { firstPrompt: 'Do the work.' };

/** What the agent said in its present generation. */
async function said(world: SupervisedWorld, id: string): Promise<string> {
  const row = await world.row(id);
  const page = await readTranscript(world.sessionsFolder, id, row.generation, {});
  return mustOk(page)
    .lines.map((line) => line.text)
    .join('\n');
}

async function holderOf(world: SupervisedWorld): Promise<TokenHolder> {
  const holder = await findByToken(world.store.read, world.variables.at(-1)?.CHANTIER_TOKEN ?? '');
  if (!holder) throw new Error('no living session has the token');
  return holder;
}

function turns(world: SupervisedWorld, count: number): Promise<boolean> {
  return world.until(async () => world.calls.turnsEnded.length >= count, `${count} turns`) as Promise<boolean>;
}

it('a permission that the judge allows is answered by kind and the turn goes on (design 7)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('asks-permission');
  await turns(world, 1);
  expect(await said(world, id)).toContain('proceed_once');
  expect(await world.store.read.selectFrom('permission_request').selectAll().executeTakeFirstOrThrow()).toMatchObject({
    state: 'allowed',
    delivery: 'delivered',
  });
});

it('a permission that the judge rejects is rejected by kind', async () => {
  const world = await supervisedWorld({ ...brief, judge: () => ({ kind: 'reject', reason: 'blocked' }) });
  const id = await world.start('asks-permission');
  await turns(world, 1);
  expect(await said(world, id)).toMatch(/\d+: no/);
});

it('a held permission keeps the session RUNNING with the flag waiting_approval until its decision is settled (design 7)', async () => {
  const world = await supervisedWorld({ ...brief, judge: () => ({ kind: 'hold', decisionId: 'd-1' }) });
  const id = await world.start('asks-permission');
  const held = await world.when(id, (row) => row.waiting_approval === 1, 'the flag');
  expect(held).toMatchObject({ state: 'RUNNING', stalled: 0 });
  const match = { decisionId: 'd-1' };
  mustOk(await world.store.tx((tx) => answerPermission(tx, match, { allow: true, actor: operator })));
  await turns(world, 1);
  expect(await said(world, id)).toContain('proceed_once');
  expect((await world.row(id)).waiting_approval).toBe(0);
  const again = await world.store.tx((tx) => answerPermission(tx, match, { allow: false, actor: operator }));
  expect(again).toMatchObject({ ok: false, refusal: { code: 'permission_settled' } });
});

it('TC-NOM-03 with a real process: a question of the protocol escalates, the answer reaches the agent, RUNNING again', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('asks-question');
  await world.inState(id, 'ESCALATED');
  await world.must('respond', { workKey: 'PD-1', text: 'half up' });
  await world.inState(id, 'RUNNING');
  await turns(world, 1);
  expect(await said(world, id)).toContain('accept: {\\"rounding\\":\\"half up\\"}');
  expect((await world.events('escalation.delivered')).length).toBe(1);
});

it('declines the question of a reviewer: reviewers never ask (R-36, R-37)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('asks-question', 'pr-1/r1', 'reviewer');
  await turns(world, 1);
  expect(await said(world, id)).toContain('decline: null');
  expect(await world.store.read.selectFrom('escalation').selectAll().execute()).toEqual([]);
});

it('pause cancels the turn and holds prompts; resume lets the agent go on (S-39, design 7)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('works-silently');
  await world.when(id, (row) => row.turn_open === 1, 'an open turn');
  await world.must('pause', { workKey: 'PD-1' });
  await turns(world, 1);
  expect(world.calls.turnsEnded).toEqual(['cancelled']);
  mustOk(await world.store.tx((tx) => tellSession(tx, world.ctx, caller, { session: id, text: 'later', key: 'T' })));
  const queued = await world.store.read.selectFrom('prompt').selectAll().where('kind', '=', 'tell').executeTakeFirst();
  expect(queued?.state).toBe('queued');
  expect((await world.row(id)).state).toBe('PAUSED');
  await world.must('resume', { workKey: 'PD-1' });
  await world.when(id, (row) => row.turn_open === 1, 'the next turn');
});

it('pause while a permission is held cancels it, voids its decision and the agent hears cancelled (field case 30)', async () => {
  const world = await supervisedWorld({ ...brief, judge: () => ({ kind: 'hold', decisionId: 'd-1' }) });
  const id = await world.start('asks-permission');
  await world.when(id, (row) => row.waiting_approval === 1, 'the flag');
  await world.must('pause', { workKey: 'PD-1' });
  await turns(world, 1);
  expect(world.calls.holdsEnded).toEqual(['d-1']);
  expect(await said(world, id)).toMatch(/\d+: cancelled/);
  expect(await world.row(id)).toMatchObject({ state: 'PAUSED', waiting_approval: 0 });
});

it('tell: a text is queued behind the turn and has a delivery verdict; with now it cuts the open turn (decision 8)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('works-silently');
  await world.when(id, (row) => row.turn_open === 1, 'an open turn');
  const tell = (text: string, now: boolean) =>
    world.store.tx((tx) =>
      tellSession(tx, world.ctx, caller, { session: 'PD-1', text, now, key: text.replaceAll(' ', '-') }),
    );
  const later = mustOk(await tell('later please', false)).value;
  expect(await waitPrompt(world.store, later.prompt_id, 100)).toMatchObject({ delivery: 'queued' });
  const now = mustOk(await tell('now please', true)).value;
  expect(await waitPrompt(world.store, now.prompt_id, 5_000)).toMatchObject({ delivery: 'delivered' });
  expect(world.calls.turnsEnded).toEqual(['cancelled']);
  await world.must('stop', { workKey: 'PD-1' });
  expect(await waitPrompt(world.store, later.prompt_id, 100)).toMatchObject({ delivery: 'not_delivered' });
  expect(await tell('too late', false)).toMatchObject({ ok: false, refusal: { kind: 'wrong-state' } });
});

it('ask_human waits for the answer; repeated under its key it is the same question (decision 6)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('works-silently');
  await world.when(id, (row) => row.turn_open === 1, 'an open turn');
  const holder = await holderOf(world);
  const ask = (budgetMs: number) => askHuman(world.ctx, holder, { text: 'Which one?', key: 'q1' }, { budgetMs });
  const pending = mustOk(await ask(20));
  expect(pending).toMatchObject({ status: 'pending', open_before: 0 });
  await world.inState(id, 'ESCALATED');
  const waiting = [ask(5_000), waitAnswer(world.ctx, holder, { id: pending.id }, { budgetMs: 5_000 })];
  await world.must('respond', { workKey: 'PD-1', text: 'the left one' });
  for (const answer of await Promise.all(waiting))
    expect(mustOk(answer)).toEqual({ status: 'answered', id: pending.id, answer: 'the left one' });
  await world.inState(id, 'RUNNING');
  expect(await world.store.read.selectFrom('escalation').selectAll().execute()).toHaveLength(1);
});

it('an answer that no call of the agent fetches starts its next turn (S-37)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('answers');
  await turns(world, 1);
  const holder = await holderOf(world);
  mustOk(await askHuman(world.ctx, holder, { text: 'Which one?', key: 'q1' }, { budgetMs: 10 }));
  await world.must('respond', { workKey: 'PD-1', text: 'the left one' });
  await turns(world, 2);
  await world.inState(id, 'RUNNING');
  expect(await said(world, id)).toContain('The answer of the human is:\\nthe left one');
});

it('refuses to ask for a reviewer, with an invalid text, and after the end; each is logged and changes nothing', async () => {
  const world = await supervisedWorld(brief);
  await world.start('works-silently', 'pr-1/r1', 'reviewer');
  await world.until(async () => world.variables.length === 1, 'the launch');
  const reviewer = await holderOf(world);
  const asked = await askHuman(world.ctx, reviewer, { text: 'May I?', key: 'q' });
  expect(asked).toMatchObject({ ok: false, refusal: { kind: 'not-permitted' } });
  const id = await world.start('works-silently', 'PD-1');
  await world.inState(id, 'RUNNING');
  const author = await holderOf(world);
  for (const question of [
    { text: 'bell \u0007', key: 'q' },
    { text: '', key: 'q' },
    { text: 'ok?', key: 'bad key' },
  ])
    expect(await askHuman(world.ctx, author, question)).toMatchObject({ ok: false, refusal: { kind: 'invalid' } });
  await world.must('stop', { workKey: 'PD-1' });
  expect(await askHuman(world.ctx, author, { text: 'still there?', key: 'q' })).toMatchObject({
    ok: false,
    refusal: { code: 'session_ended' },
  });
  expect(await world.events('message.rejected')).toHaveLength(5);
  expect(await world.store.read.selectFrom('escalation').selectAll().execute()).toEqual([]);
});
