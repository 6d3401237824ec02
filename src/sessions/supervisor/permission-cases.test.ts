import { expect, it } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { answerPermission } from '../permissions.ts';
import type { PermissionJudgement } from '../ports.ts';
import { readTranscript } from '../transcript.ts';
import { supervisedWorld } from './testing.ts';

const ada = { kind: 'operator', id: 'ada', channel: 'console' } as const;
const drivers = [
  ['ACP', 'asks-permission', { driver: 'acp' }, ': proceed_once', ': no'],
  ['Claude Code', 'claude-asks-permission', { driver: 'claude', mode: 'default' }, ': allow', ': deny'],
] as const;

/** A world whose permissions a human decides, unless `judge` says otherwise. */
async function setup(profile = {}, judge: () => PermissionJudgement = () => ({ kind: 'hold', decisionId: 'd-1' })) {
  const world = await supervisedWorld({ firstPrompt: 'Do the work.', profile, judge });
  const requests = (id: string) =>
    world.store.read.selectFrom('permission_request').selectAll().where('session_id', '=', id).orderBy('id').execute();
  return {
    world,
    requests,
    held: (id: string, count = 1) =>
      world.until(async () => {
        const rows = (await requests(id)).filter((each) => each.state === 'held');
        return rows.length === count && rows;
      }, `${count} held permissions`),
    decide: (permissionId: string, allow: boolean) =>
      world.store.tx((tx) => answerPermission(tx, { permissionId }, { allow, actor: ada, reason: 'not so' })),
    said: (id: string, words: string) =>
      world.until(async () => {
        const row = await world.row(id);
        const page = await readTranscript(world.sessionsFolder, row.id, row.generation, { from: 0 });
        const lines = (page.ok ? page.value.lines : []).filter((line) => JSON.stringify(line).includes(words));
        return lines.length > 0 && lines;
      }, `the agent to say ${words}`),
  };
}

it.each(drivers)(
  '%s: never waits on for a permission that a human decided somewhere else, yes or no (field cases 24 and 26)',
  async (_name, agent, profile, yes, no) => {
    const { world, held, decide, said } = await setup(profile);
    for (const [key, allow, words] of [
      ['PD-1', true, yes],
      ['PD-2', false, no],
    ] as const) {
      const id = await world.start(agent, key);
      const [request] = await held(id);
      expect(await world.row(id)).toMatchObject({ state: 'RUNNING', waiting_approval: 1 });
      mustOk(await decide(request!.id, allow));
      await said(id, words);
      await world.when(id, (row) => row.turn_open === 0 && row.waiting_approval === 0, 'the end of its turn');
    }
  },
);

it.each(drivers)(
  '%s: never loses or doubles an answer: one of two at once is taken, under an id that outlives the server (field case 25)',
  async (_name, agent, profile, yes, no) => {
    const { world, held, decide, said, requests } = await setup(profile);
    const id = await world.start(agent);
    const [request] = await held(id);
    await world.restart();
    expect((await requests(id)).map((each) => each.id)).toEqual([request!.id]);
    const answers = await Promise.all([decide(request!.id, true), decide(request!.id, false)]);
    expect(answers.filter((answer) => answer.ok)).toHaveLength(1);
    expect(await said(id, answers[0].ok ? yes : no)).toHaveLength(1);
  },
);

it.each(drivers)(
  '%s: never goes on by itself while a human is silent, is not taken for hung or stalled, and goes on at once afterwards (field cases 27 and 37)',
  async (_name, agent, profile, yes) => {
    const { world, held, decide, said } = await setup(profile);
    const id = await world.start(agent);
    const [request] = await held(id);
    // Longer than each clock of this world: silence of an open turn 0.4 s, answers to pings 0.3 s.
    await world.when(id, (row) => Date.now() - row.turn_opened_at! > 1_500, 'a long wait');
    expect(await world.row(id)).toMatchObject({ state: 'RUNNING', waiting_approval: 1, stalled: 0, unresponsive: 0 });
    expect(await world.events('session.turn-ended')).toEqual([]);
    const decidedAt = performance.now();
    mustOk(await decide(request!.id, true));
    await said(id, yes);
    expect(performance.now() - decidedAt).toBeLessThan(5_000);
  },
);

it('a refusal is never told as cancelled, which would end the turn: the narrowest way of rejecting is chosen (field case 32)', async () => {
  const { world, said } = await setup({}, () => ({ kind: 'reject', reason: 'outside' }));
  const id = await world.start('asks-permission');
  await said(id, ': no');
  expect(JSON.stringify(await said(id, ': '))).not.toContain('cancelled');
  expect(await world.events('session.turn-ended')).toMatchObject([{ facts: { stop_reason: 'end_turn' } }]);
});

it('one that waits for a human never keeps another session from starting: each has a process of its own (field case 33)', async () => {
  const { world, held } = await setup();
  const first = await world.start('asks-permission', 'PD-1');
  await held(first);
  const second = await world.start('asks-permission', 'PD-2');
  await held(second);
  expect((await world.row(first)).pid).not.toBe((await world.row(second)).pid);
});

it('the permission of a subagent is never left unanswered, nor mixed up with that of the conversation (field case 35)', async () => {
  const { world, held, decide, said } = await setup();
  const id = await world.start('asks-for-subagent');
  const rows = await held(id, 2);
  const of = (title: string) => rows.find((each) => each.tool_call.includes(title))!.id;
  mustOk(await decide(of('Step 1'), true));
  expect(await world.row(id)).toMatchObject({ waiting_approval: 1 });
  mustOk(await decide(of('Step 0'), false));
  await said(id, 'no proceed_once');
});

it('a turn that was paused and resumed never finds that nobody judges its permissions (field case 41)', async () => {
  let verdict: PermissionJudgement = { kind: 'hold', decisionId: 'd-1' };
  const { world, held, requests, said } = await setup({}, () => verdict);
  const id = await world.start('asks-permission');
  await held(id);
  await world.must('pause', { workKey: 'PD-1' });
  await world.until(async () => (await requests(id))[0]?.state === 'cancelled', 'the first one to be cancelled');
  await world.when(id, (row) => row.turn_open === 0, 'the end of the turn');
  verdict = { kind: 'allow' };
  await world.must('resume', { workKey: 'PD-1' });
  await said(id, ': proceed_once');
  expect(world.calls.holdsEnded).toEqual(['d-1']);
});
