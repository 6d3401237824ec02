import { expect, it } from 'vitest';

import { mustOk, refuse, sha256 } from '../../kernel/index.ts';
import { eventsTopic } from '../../store/index.ts';
import { markDone } from '../agent-side/report.ts';
import { findByToken } from '../session-store.ts';
import { supervisedWorld } from './testing.ts';

const brief = { firstPrompt: 'Do the work.' };

it('TC-NOM-14: a whole start: guards, STARTING, peer, liveness, RUNNING with the real peer id; the brief is delivered (S-27, S-28, field case 6)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('answers');
  expect(await world.row(id)).toMatchObject({ state: 'STARTING', endpoint_id: 'pending-PD-1' });
  const row = await world.inState(id, 'RUNNING');
  expect(row.endpoint_id).toMatch(/^s-[a-z0-9]{10}$/);
  expect(row).toMatchObject({ conversation_id: 's-1', mode: 'default', process: 'live' });
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
  const prompt = await world.store.read.selectFrom('prompt').selectAll().executeTakeFirstOrThrow();
  expect(prompt).toMatchObject({ kind: 'brief', state: 'delivered', stop_reason: 'end_turn' });
  const kinds = (await world.events()).map((event) => event.kind);
  for (const kind of ['session.launched', 'session.peer-seen', 'session.live', 'prompt.settled', 'session.turn-ended'])
    expect(kinds).toContain(kind);
  const live = (await world.events('session.live'))[0];
  expect(Number(live?.facts.elapsed_ms)).toBeLessThan(30_000);
  expect(world.faults).toEqual([]);
});

it('gives the agent a token of which only the hash is stored and which dies with the session (S-4)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('answers');
  const row = await world.inState(id, 'RUNNING');
  const token = world.variables[0]?.CHANTIER_TOKEN ?? '';
  expect(Buffer.from(token, 'base64url')).toHaveLength(32);
  expect(row.token_hash).toBe(sha256(token));
  expect(await findByToken(world.store.read, token)).toMatchObject({ sessionId: id, generation: 1, role: 'author' });
  expect(await findByToken(world.store.read, `${token}x`)).toBeUndefined();
  await world.must('stop', { workKey: 'PD-1' });
  expect(await findByToken(world.store.read, token)).toBeUndefined();
});

it('TC-ERR-07, TC-NOM-06: kill -9 of the agent is CRASHED within 1 s, nothing of it is left, its work is saved (S-45)', async () => {
  const world = await supervisedWorld({ firstPrompt: 'work' });
  const id = await world.start('works-silently');
  const row = await world.when(id, (each) => each.turn_open === 1 && each.pid !== null, 'an open turn');
  const killedAt = performance.now();
  process.kill(row.pid!, 'SIGKILL');
  const dead = await world.inState(id, 'CRASHED');
  expect(performance.now() - killedAt).toBeLessThan(1_000);
  expect(dead.reason).toBe('exited');
  expect(world.calls.ended).toMatchObject([{ session: { id }, how: { state: 'CRASHED', reason: 'exited' } }]);
  const over = await world.when(id, (each) => each.wound_up_at !== null, 'the saving of the work');
  expect(over.process).toBe('ended');
  expect(world.calls.afterEnded).toMatchObject([{ id }]);
  expect(world.pids(over)).toEqual([]);
});

it('an ended or relaunched session is let go before the store says so: no gap is reported that never was (S-46, TC-NOM-07)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('answers');
  await world.inState(id, 'RUNNING');
  const heldWhenEnded: boolean[] = [];
  const off = world.store.onWake(eventsTopic, () => {
    heldWhenEnded.push(world.supervisor().attachedSessions().length > 0);
  });
  await world.must('stop', { workKey: 'PD-1' });
  await world.when(id, (row) => row.process === 'ended', 'the end of its process');
  off();
  // The last wake-up came with the commit of `ended`, before any file was tidied up.
  expect(heldWhenEnded.at(-1)).toBe(false);
});

it('an agent that dies with its question open is CRASHED and the question closed (field case 2, S-41)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('asks-question');
  const row = await world.inState(id, 'ESCALATED');
  process.kill(row.pid!, 'SIGKILL');
  await world.inState(id, 'CRASHED');
  const question = await world.store.read.selectFrom('escalation').selectAll().executeTakeFirstOrThrow();
  expect(question).toMatchObject({ status: 'CLOSED', closure_reason: 'session_ended' });
});

it.each([
  ['exits-at-once', 'exited'],
  ['unsafe-mode', 'unsafe_mode'],
])('%s: START_FAILED (%s), cleaned up (S-29, S-30, decision 3)', async (agent, reason) => {
  const world = await supervisedWorld(brief);
  const id = await world.start(agent);
  const row = await world.inState(id, 'START_FAILED');
  expect(row.reason).toBe(reason);
  const over = await world.when(id, (each) => each.wound_up_at !== null, 'the end of its processes');
  expect(world.pids(over)).toEqual([]);
  expect(world.variables).toHaveLength(1);
});

it('a peer that never comes: START_FAILED after the start timeout (S-29)', async () => {
  const world = await supervisedWorld({ ...brief, settings: { startDetectionTimeoutMs: 400 } });
  const id = await world.start('works-before-open');
  expect((await world.inState(id, 'START_FAILED')).reason).toBe('start_timeout');
});

it('TC-ERR-09 (ERR-10): a peer without first liveness is START_FAILED after its timeout', async () => {
  const world = await supervisedWorld({ ...brief, settings: { firstLivenessTimeoutMs: 400 } });
  const id = await world.start('never-opens');
  const row = await world.inState(id, 'START_FAILED');
  expect(row.reason).toBe('first_liveness_timeout');
  expect(row.peer_seen_at).not.toBeNull();
});

it('a launch that cannot be planned is START_FAILED with the cause; no process was made', async () => {
  const world = await supervisedWorld({ plan: async () => refuse('invalid', 'setup_failed', 'npm ci failed') });
  const id = await world.start('answers');
  expect(await world.inState(id, 'START_FAILED')).toMatchObject({ reason: 'setup_failed', launched_at: null });
  await world.when(id, (each) => each.wound_up_at !== null, 'the winding up');
});

it('a completion reported in a turn ends the session as DONE and its process after the turn (S-44)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('answers');
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
  const holder = await findByToken(world.store.read, world.variables[0]?.CHANTIER_TOKEN ?? '');
  if (!holder) throw new Error('no holder');
  const done = mustOk(await world.store.tx((tx) => markDone(tx, world.ctx, holder)));
  expect(done).toMatchObject({ done: true, state: 'DONE' });
  const over = await world.when(id, (each) => each.wound_up_at !== null, 'the end of its process');
  expect(over).toMatchObject({ state: 'DONE', reason: 'reported_done', process: 'ended', conversation_id: 's-1' });
  expect(world.pids(over)).toEqual([]);
});

it('hangs in a turn: UNRESPONSIVE is a flag, then CRASHED as hung (decision 4)', async () => {
  const world = await supervisedWorld({ ...brief, settings: { hungTimeoutMs: 800 } });
  const id = await world.start('hangs');
  const flagged = await world.when(id, (each) => each.unresponsive === 1, 'the flag');
  expect(flagged.state).toBe('RUNNING');
  const row = await world.inState(id, 'CRASHED');
  expect(row.reason).toBe('hung');
  const over = await world.when(id, (each) => each.wound_up_at !== null, 'the end of its process');
  expect(world.pids(over)).toEqual([]);
});

it('works without a word: STALLED is a flag, the agent is told once, the second time CRASHED as stalled (design 7, field cases 15, 34 and 40)', async () => {
  const world = await supervisedWorld({ ...brief, settings: { stallTimeoutMs: 600, hungTimeoutMs: 60_000 } });
  const id = await world.start('works-silently');
  expect((await world.inState(id, 'CRASHED')).reason).toBe('stalled');
  const prompts = await world.store.read.selectFrom('prompt').select(['kind', 'state']).orderBy('ord').execute();
  expect(prompts).toMatchObject([{ kind: 'brief' }, { kind: 'notice', state: 'delivered' }]);
  const flags = (await world.events('session.flagged')).map(({ facts }) => `${String(facts.flag)} ${String(facts.on)}`);
  expect(flags.slice(0, 3)).toEqual(['stalled true', 'stalled false', 'stalled true']);
});
