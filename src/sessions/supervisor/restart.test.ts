import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { tellSession } from '../tell-session.ts';
import { caller, operator } from '../testing.ts';
import { readTranscript } from '../transcript.ts';
import { supervisedWorld } from './testing.ts';

const brief = { firstPrompt: 'Do the work.' };

it('a stopped supervisor leaves its agents alone; the next one adopts them: same pid, question answered, nothing twice, no other address (S-47, S-48, field cases 18 and 65)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('asks-question');
  const before = await world.inState(id, 'ESCALATED');
  await world.restart();
  expect(world.supervisor().attachedSessions()).toEqual([{ sessionId: id, generation: 1 }]);
  await world.must('respond', { workKey: 'PD-1', text: 'half up' });
  const after = await world.inState(id, 'RUNNING');
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
  expect(after).toMatchObject({ pid: before.pid, generation: 1, endpoint_id: before.endpoint_id });
  expect(world.variables).toHaveLength(1);
  expect(await world.events('escalation.opened')).toHaveLength(1);
  expect((await world.events('session.adopted'))[0]?.facts).toMatchObject({ pid: before.pid, state: 'ESCALATED' });
});

it('an answer given while no server supervises is appended by the next one (decision 6)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('asks-question');
  await world.inState(id, 'ESCALATED');
  await world.supervisor().stop();
  await world.must('respond', { workKey: 'PD-1', text: 'half even' });
  expect((await world.row(id)).state).toBe('ESCALATED');
  await world.restart();
  await world.inState(id, 'RUNNING');
  const page = mustOk(await readTranscript(world.sessionsFolder, id, 1, {}));
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
  expect(page.session_id).toBe(id);
});

it('an agent that dies while no server looks is CRASHED at the next start, not idle for ever (field case 5)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('works-silently');
  const row = await world.when(id, (each) => each.turn_open === 1 && each.pid !== null, 'an open turn');
  await world.supervisor().stop();
  process.kill(row.pid!, 'SIGKILL');
  await world.restart();
  expect((await world.inState(id, 'CRASHED')).reason).toBe('exited');
});

it('a server that died between the commit and the start of the process: one process comes of it (S-23, field case 8)', async () => {
  const world = await supervisedWorld(brief);
  await world.supervisor().stop();
  const id = await world.start('answers');
  await world.store.tx((tx) =>
    tx.db.updateTable('session').set({ process: 'launching', launched_at: tx.now }).where('id', '=', id).execute(),
  );
  await world.restart();
  const row = await world.inState(id, 'RUNNING');
  expect(world.variables).toHaveLength(1);
  expect(row.generation).toBe(1);
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
  expect(await world.store.read.selectFrom('prompt').selectAll().execute()).toHaveLength(1);
});

it('a server that died after it made the folder: the generation is never started again and START_FAILED (design 7)', async () => {
  const world = await supervisedWorld(brief);
  await world.supervisor().stop();
  const id = await world.start('answers');
  await world.store.tx((tx) =>
    tx.db.updateTable('session').set({ process: 'launching', launched_at: tx.now }).where('id', '=', id).execute(),
  );
  mkdirSync(join(world.sessionsFolder, id, '1'), { recursive: true });
  await world.restart();
  await world.inState(id, 'START_FAILED');
  expect(world.variables).toEqual([]);
});

it('after a newer program an older one leaves its generations alone, says so, and ends nobody; the newer one goes on with them (issue 4, upgrade)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('asks-question');
  const before = await world.inState(id, 'ESCALATED');
  await world.supervisor().stop();
  const birth = join(world.sessionsFolder, id, '1', 'birth.json');
  const own = readFileSync(birth, 'utf8');
  writeFileSync(birth, JSON.stringify({ ...JSON.parse(own), version: 99 }));
  await world.restart();
  await world.until(async () => world.faults.length > 0, 'the fault');
  expect(String(world.faults[0])).toContain('newer Chantier');
  expect(await world.row(id)).toMatchObject({ state: 'ESCALATED', process: 'live' });
  writeFileSync(birth, own);
  await world.restart();
  await world.must('respond', { workKey: 'PD-1', text: 'half up' });
  expect((await world.inState(id, 'RUNNING')).pid).toBe(before.pid);
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the end of the turn');
});

it('TC-NR-04: supervision never touches an ended session (S-11)', async () => {
  const world = await supervisedWorld(brief);
  const aborted = await world.start('answers', 'PD-1');
  await world.inState(aborted, 'RUNNING');
  await world.must('stop', { workKey: 'PD-1' });
  const crashed = await world.start('works-silently', 'PD-2');
  const { pid } = await world.when(crashed, (row) => row.pid !== null && row.state === 'RUNNING', 'a running agent');
  process.kill(pid!, 'SIGKILL');
  const failed = await world.start('exits-at-once', 'PD-3');
  const ids = [aborted, crashed, failed];
  const over = [];
  for (const id of ids) over.push(await world.when(id, (row) => row.wound_up_at !== null, 'the end'));
  expect(over.map(({ state }) => state)).toEqual(['ABORTED', 'CRASHED', 'START_FAILED']);
  await world.restart();
  await world.restart();
  for (const row of over) expect(await world.row(row.id)).toEqual(row);
  expect(world.calls.afterEnded).toHaveLength(ids.length);
});

it('stop ends an agent that ignores SIGTERM and what it left behind (decision 5)', async () => {
  const world = await supervisedWorld(brief);
  const ids = [await world.start('ignores-sigterm', 'PD-1'), await world.start('leaves-server', 'PD-2')];
  await world.until(async () => world.calls.turnsEnded.length >= 1, 'a turn');
  for (const workKey of ['PD-1', 'PD-2']) await world.must('stop', { workKey });
  for (const id of ids) {
    const over = await world.when(id, (row) => row.wound_up_at !== null, 'the end');
    expect(over).toMatchObject({ state: 'ABORTED', process: 'ended' });
    expect(world.pids(over)).toEqual([]);
  }
});

it('what an agent says after the latch counts for nothing: end_turn after stop is no success (decision 5)', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('ends-turn-after-latch');
  await world.when(id, (row) => row.turn_open === 1, 'an open turn');
  await world.must('stop', { workKey: 'PD-1' });
  const over = await world.when(id, (row) => row.wound_up_at !== null, 'the end');
  expect(over.state).toBe('ABORTED');
  expect(world.calls.turnsEnded).toEqual([]);
});

it('stop --all ends every process within 5 s, stubborn ones too, and says so', async () => {
  const world = await supervisedWorld({ ...brief, settings: { maxActive: 10 } });
  const agents = ['answers', 'works-silently', 'ignores-sigterm', 'hangs', 'asks-question'];
  const ids = await Promise.all(agents.map((agent, index) => world.start(agent, `PD-${index + 1}`)));
  await world.until(async () => {
    const rows = await Promise.all(ids.map((id) => world.row(id)));
    return rows.every((row) => row.live_at !== null);
  }, 'five living sessions');
  const startedAt = performance.now();
  const stopped = await world.supervisor().stopAll({ actor: operator, reason: 'stop_all' });
  expect(performance.now() - startedAt).toBeLessThan(5_000);
  expect(stopped).toHaveLength(5);
  expect(stopped.every((each) => each.isGone)).toBe(true);
  for (const id of ids) {
    const row = await world.row(id);
    expect(row.state).toBe('ABORTED');
    expect(world.pids(row)).toEqual([]);
  }
});

it('stop --all also waits for what was being stopped already', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('ignores-sigterm');
  const row = await world.inState(id, 'RUNNING');
  await world.must('stop', { workKey: 'PD-1' });
  const stopped = await world.supervisor().stopAll({ actor: operator, reason: 'stop_all' });
  expect(stopped).toEqual([{ sessionId: id, workKey: 'PD-1', isGone: true }]);
  expect(world.pids(row)).toEqual([]);
});

it('a server that goes down finishes the stops that are under way', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('ignores-sigterm');
  const row = await world.inState(id, 'RUNNING');
  await world.must('stop', { workKey: 'PD-1' });
  await world.supervisor().stop();
  expect(world.pids(row)).toEqual([]);
  expect((await world.row(id)).process).toBe('ended');
});

it('more than half of at least five sessions dying at once is alerted (decision 4)', async () => {
  const world = await supervisedWorld({ ...brief, settings: { maxActive: 10 } });
  const ids = await Promise.all([1, 2, 3, 4, 5].map((n) => world.start('works-silently', `PD-${n}`)));
  const rows = await Promise.all(
    ids.map((id) => world.when(id, (row) => row.pid !== null && row.state === 'RUNNING', 'a running agent')),
  );
  for (const row of rows.slice(0, 4)) process.kill(row.pid!, 'SIGKILL');
  for (const id of ids.slice(0, 4)) await world.inState(id, 'CRASHED');
  const alerts = async (): Promise<unknown[]> => (await world.events('session.alert')).map(({ facts }) => facts.alert);
  await world.until(async () => (await alerts()).includes('mass_death'), 'the alert');
  expect((await world.row(ids[4] ?? '')).state).toBe('RUNNING');
});

it('a text queued before a restart is delivered once', async () => {
  const world = await supervisedWorld(brief);
  const id = await world.start('answers');
  await world.until(async () => world.calls.turnsEnded.length === 1, 'the first turn');
  await world.supervisor().stop();
  mustOk(await world.store.tx((tx) => tellSession(tx, world.ctx, caller, { session: id, text: 'more', key: 'T' })));
  await world.restart();
  await world.until(async () => world.calls.turnsEnded.length === 2, 'the second turn');
  await world.restart();
  const page = mustOk(await readTranscript(world.sessionsFolder, id, 1, {}));
  expect(page.lines.filter((line) => line.text.includes('heard: more'))).toHaveLength(1);
});
