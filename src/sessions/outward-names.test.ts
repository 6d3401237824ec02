import { expect, it } from 'vitest';

import { openTestSqlite } from '../store/testing.ts';
import { outwardNames } from './outward-names.ts';
import { sessionStates } from './states.ts';
import { listEscalations, readStatus } from './status.ts';
import { sessionWorld } from './testing.ts';

/** What the two protocols know (README 2.13). */
const mcpStatuses = ['working', 'input_required', 'completed', 'failed', 'cancelled'];
const a2aStates = /^TASK_STATE_(SUBMITTED|WORKING|INPUT_REQUIRED|COMPLETED|FAILED|CANCELED|REJECTED)$/;

it('every state has a name that MCP and A2A know, and a held approval needs input (README 2.13)', () => {
  for (const state of sessionStates) {
    const { mcp, a2a } = outwardNames({ state, waiting_approval: 0 });
    expect(mcpStatuses, state).toContain(mcp);
    expect(a2a, state).toMatch(a2aStates);
  }
  const needsInput = { mcp: 'input_required', a2a: 'TASK_STATE_INPUT_REQUIRED' };
  expect(outwardNames({ state: 'ESCALATED', waiting_approval: 0 })).toEqual(needsInput);
  expect(outwardNames({ state: 'RUNNING', waiting_approval: 1 })).toEqual(needsInput);
  expect(outwardNames({ state: 'PAUSED', waiting_approval: 1 })).toEqual(needsInput);
  expect(outwardNames({ state: 'CRASHED', waiting_approval: 1 })).toEqual({ mcp: 'failed', a2a: 'TASK_STATE_FAILED' });
});

it('status says the outward name, and an answered question by whom it was answered (README 2.13, S-6)', async () => {
  const { store } = await openTestSqlite();
  const world = sessionWorld(store);
  const holder = await world.running();
  const id = await world.ask(holder, 'Which way?');
  const [session] = await readStatus(store.read);
  expect(session).toMatchObject({ state: 'ESCALATED', outward: { mcp: 'input_required' } });
  await world.must('respond', { workKey: session!.work_key, text: 'left' });
  const [answered] = await listEscalations(store.read, { sessionId: holder.sessionId, includeClosed: true });
  expect(answered).toMatchObject({ escalation_id: id, answered_by: 'op' });
});
