import { expect, it } from 'vitest';

import { mustOk, ok } from '../../kernel/index.ts';
import { supervisedWorld, type SupervisedWorld } from '../supervisor/testing.ts';
import { operator } from '../testing.ts';
import { handBack } from './hand-back.ts';
import { takeOver } from './take-over.ts';

const take = async (world: SupervisedWorld, sessionId: string) =>
  mustOk(await world.store.tx((tx) => takeOver(tx, world.ctx, operator, { sessionId, by: 'ada' })));

const giveBack = async (world: SupervisedWorld, sessionId: string, takeoverId: string) =>
  mustOk(await world.store.tx((tx) => handBack(tx, operator, { sessionId, takeoverId })));

const gone = (world: SupervisedWorld, id: string) =>
  world.when(id, (row) => row.process === 'ended', 'the end of the process');

it('a taken-over session has no process, is no crash, and is left alone by a server that is started again (design 7)', async () => {
  const world = await supervisedWorld({ firstPrompt: 'begin' });
  const id = await world.start('works-silently');
  const working = await world.when(id, (row) => row.turn_open === 1, 'a turn');
  const { id: takeoverId } = await take(world, id);
  await gone(world, id);
  expect(world.pids(working)).toEqual([]);
  await world.restart();
  expect(await world.row(id)).toMatchObject({ state: 'PAUSED', taken_over: 1, generation: 1, process: 'ended' });
  await giveBack(world, id, takeoverId);
  const again = await world.when(id, (row) => row.process === 'live' && row.live_at !== null, 'the next generation');
  expect(again).toMatchObject({
    state: 'RUNNING',
    generation: 2,
    conversation_id: working.conversation_id,
    resume_conversation_id: working.conversation_id,
  });
});

it('an agent that cannot resume after a handback begins a new conversation with the whole brief, in the same session (design 7)', async () => {
  const world = await supervisedWorld({
    plan: async (session, plan) =>
      ok({ ...plan, firstPrompt: session.resumeConversationId === null ? 'the whole brief' : 'what a human did' }),
  });
  const id = await world.start('forgets');
  await world.when(id, (row) => row.turn_open === 1, 'a turn');
  const { id: takeoverId } = await take(world, id);
  await gone(world, id);
  await giveBack(world, id, takeoverId);
  const fresh = await world.when(id, (row) => row.generation === 3 && row.turn_open === 1, 'a fresh generation');
  expect(fresh).toMatchObject({ state: 'RUNNING', resume_conversation_id: null });
  const prompts = await world.store.read.selectFrom('prompt').selectAll().orderBy('ord').execute();
  expect(prompts.map(({ text, sent_at: sentAt }) => [text, sentAt !== null])).toEqual([
    ['the whole brief', true],
    ['what a human did', false],
    ['the whole brief', true],
  ]);
});
