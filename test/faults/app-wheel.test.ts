import { execFile } from 'node:child_process';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { commit, conversationOf, enter, openWheel, promptsOf, rowOf, typeInto } from '../app/wheel-world.ts';
import { deliver, type Step } from '../app/world.ts';
import { git } from '../repositories/index.ts';

test('a human takes the wheel, commits in the sandbox and hands back: the agent goes on in the same conversation and knows of it (design 7)', async () => {
  const { world, run, session } = await openWheel();
  const { app, caller } = world;
  const taken = mustOk(await app.sessions.takeOver(caller(), session.workKey, { by: 'ada' }));
  expect(taken).toMatchObject({ by: 'ada', isReady: true, closedQuestions: 0 });
  expect(taken.session).toMatchObject({ state: 'PAUSED', flags: { takenOver: true }, takeover: { by: 'ada' } });
  expect(await app.sessions.resume(caller(), session.workKey)).toMatchObject({ refusal: { code: 'taken_over' } });

  const said = await typeInto(
    world,
    session.id,
    `${commit('human.txt', 'By the human')} echo token=$CHANTIER_TOKEN.\n`,
  );
  expect(said).toContain('ada <wheel@humans.chantier.invalid>');
  expect(said).toContain('token=.');

  const before = await conversationOf(world, session.id);
  const back = mustOk(
    await app.sessions.handBack(caller(), session.workKey, { note: 'I wrote human.txt', end: false }),
  );
  expect(back.commits.map((one) => one.subject)).toEqual(['By the human']);
  const pull = await world.pull(run);
  expect(pull.taskId).toBe(run.task.id);
  expect(await world.session(run, 'author', () => true)).toMatchObject({
    id: session.id,
    generation: 2,
    state: 'DONE',
  });
  expect(await conversationOf(world, session.id)).toBe(before);
  const prompts = await promptsOf(world, session.id);
  expect(prompts.at(-1)).toMatch(/commits of the human[^]*By the human[^]*\+human[^]*I wrote human\.txt/);
  expect(prompts.filter((text) => text.includes('You work on task'))).toHaveLength(1);
  const clone = join(world.folder, 'c-work', session.id, 'clone');
  expect(git(clone, '-c', `safe.directory=${clone}`, 'log', '--format=%s').split('\n').slice(0, 3)).toEqual([
    'Write rest.txt',
    'By the human',
    'By the agent',
  ]);
});

test('the agent of a session that was taken over can report and decide nothing any more (design 7, S-38)', async () => {
  const { world, session } = await openWheel();
  mustOk(await world.app.sessions.takeOver(world.caller(), session.id, {}));
  const row = await rowOf(world, session.id);
  expect(row).toMatchObject({ token_hash: null, process: 'ended', state: 'PAUSED', reason: 'taken_over' });
  await world.pass(60 * 60_000);
  expect(await rowOf(world, session.id)).toMatchObject({ state: 'PAUSED', taken_over: 1, process: 'ended' });
});

test('questions of an ESCALATED session are closed as taken over, and an answer on its way comes as a text after handback (design 7, S-12)', async () => {
  const { world, session } = await openWheel(deliver('rest.txt', 'rest\n'), [
    ['say', 'now I hang'],
    ['ask', 'Which word?'],
    ['hang'],
  ]);
  await world.until('its question', async () => (await rowOf(world, session.id)).state === 'ESCALATED');
  const taken = mustOk(await world.app.sessions.takeOver(world.caller(), session.id, {}));
  expect(taken.closedQuestions).toBe(1);
  const rows = await world.ctx.store.read
    .selectFrom('escalation')
    .selectAll()
    .where('session_id', '=', session.id)
    .execute();
  expect(rows).toMatchObject([{ status: 'CLOSED', closure_reason: 'taken_over' }]);
  const open = await world.ctx.store.read
    .selectFrom('decision_request')
    .select('kind')
    .where('state', '=', 'open')
    .execute();
  expect(open).toEqual([]);
  mustOk(await world.app.sessions.handBack(world.caller(), session.id, { end: false }));
  await world.until('the agent to go on', async () => (await rowOf(world, session.id)).state === 'DONE');
});

test('two humans at once: one has the wheel, the other is told who and since when; each command of a terminal works once (design 7)', async () => {
  const { world, session } = await openWheel();
  const { app, caller } = world;
  const both = await Promise.all(['ada', 'grace'].map((by) => app.sessions.takeOver(caller(), session.id, { by })));
  expect(both.filter((one) => one.ok)).toHaveLength(1);
  const winner = both.find((one) => one.ok)!;
  const loser = both.find((one) => !one.ok)!;
  expect(loser).toMatchObject({ refusal: { kind: 'duplicate', code: 'already_taken_over' } });
  expect(JSON.stringify(loser)).toContain(`${winner.ok && winner.value.by} has the wheel`);
  const ask = () => app.sessions.openTerminal(caller(), session.id, { shell: true, term: 'dumb' });
  const [first, second] = [mustOk(await ask()), mustOk(await ask())];
  expect(await enter(first.command, 'echo in\n')).not.toContain('in\n');
  expect(await enter(second.command, 'echo in\n')).toContain('in\n');
  expect(await enter(second.command, 'echo in\n')).toContain('was opened before');
});

test('handback names files that are not committed, commits them only when told to, and a repeated handback changes nothing (design 7)', async () => {
  const { world, run, session } = await openWheel();
  const { app, caller } = world;
  mustOk(await app.sessions.takeOver(caller(), session.id, { by: 'ada' }));
  await typeInto(world, session.id, 'echo left > "left over.txt"\n');
  const refused = await app.sessions.handBack(caller(), session.id, { end: false });
  expect(refused).toMatchObject({ refusal: { code: 'work_folder_dirty', facts: { files: ['left over.txt'] } } });
  expect((await rowOf(world, session.id)).taken_over).toBe(1);
  const again = caller();
  const request = { commit: 'What I left', end: false };
  const back = mustOk(await app.sessions.handBack(again, session.id, request));
  expect(back.commits).toMatchObject([{ author: 'ada', subject: 'What I left' }]);
  const repeated = mustOk(await app.sessions.handBack(again, session.id, request));
  expect(repeated.commits).toEqual(back.commits);
  await world.pull(run);
  expect((await rowOf(world, session.id)).generation).toBe(2);
  expect(await app.sessions.handBack(caller(), session.id, { end: false })).toMatchObject({
    refusal: { code: 'not_taken_over' },
  });
});

test('handed back with nothing changed the agent is told so and loses no turn (design 7)', async () => {
  const { world, run, session } = await openWheel();
  mustOk(await world.app.sessions.takeOver(world.caller(), session.id, {}));
  mustOk(await world.app.sessions.tell(world.caller(), session.id, { text: 'a word meanwhile', now: false }));
  const back = mustOk(await world.app.sessions.handBack(world.caller(), session.id, { end: false }));
  expect(back).toMatchObject({ commits: [], message: expect.stringContaining('nothing new') });
  await world.pull(run);
  const prompts = await promptsOf(world, session.id);
  expect(prompts[1]).toContain('They committed nothing');
});

test('a terminal that is still open keeps the session; --end ends it, and stopping the session ends it too (design 7)', async () => {
  const { world, session } = await openWheel();
  const { app, caller } = world;
  mustOk(await app.sessions.takeOver(caller(), session.id, { by: 'ada' }));
  const terminal = mustOk(await app.sessions.openTerminal(caller(), session.id, { shell: true, term: 'dumb' }));
  const [program = '', ...args] = terminal.command;
  const open = execFile(program, args);
  const ended = new Promise((resolve) => open.once('exit', resolve));
  open.stdin!.write('echo ready\n');
  await new Promise((resolve) => open.stdout!.once('data', resolve));
  expect(await app.sessions.handBack(caller(), session.id, { end: false })).toMatchObject({
    refusal: { code: 'terminal_open' },
  });
  expect(await app.sessions.openTerminal(caller(), session.id, { shell: true, term: 'dumb' })).toMatchObject({
    refusal: { code: 'terminal_open' },
  });
  mustOk(await app.sessions.stop(caller(), session.id, 'enough'));
  await ended;
  expect(await rowOf(world, session.id)).toMatchObject({ state: 'ABORTED', taken_over: 0 });
  expect(await app.sessions.handBack(caller(), session.id, { end: false })).toMatchObject({
    refusal: { code: 'not_taken_over' },
  });
});

test('a handback that is repeated under its key touches nothing of who has the wheel by then (design 7)', async () => {
  const hang: Step[] = [['say', 'I hang again'], ['hang']];
  const { world, session } = await openWheel(hang);
  const { sessions } = world.app;
  mustOk(await sessions.takeOver(world.caller(), session.id, { by: 'ada' }));
  const caller = world.caller();
  const request = { commit: 'by ada', end: true };
  const first = mustOk(await sessions.handBack(caller, session.id, request));
  await world.until('the next turn', async () => (await world.said(session.id)).includes('I hang again'));
  mustOk(await sessions.takeOver(world.caller(), session.id, { by: 'bob' }));
  await typeInto(world, session.id, 'echo bob > bob.txt\n');
  expect(mustOk(await sessions.handBack(caller, session.id, request)).commits).toEqual(first.commits);
  expect(await rowOf(world, session.id)).toMatchObject({ state: 'PAUSED', taken_over: 1 });
  const clone = join(world.folder, 'c-work', session.id, 'clone');
  expect(git(clone, '-c', `safe.directory=${clone}`, 'status', '--porcelain')).toContain('bob.txt');
});

test('at a terminal it has a pseudo-terminal of its own: Ctrl-C ends what runs in it, not the sandbox around it (design 7, ADR 0022)', async () => {
  const { world, session } = await openWheel();
  const { app, caller } = world;
  mustOk(await app.sessions.takeOver(caller(), session.id, {}));
  const terminal = mustOk(await app.sessions.openTerminal(caller(), session.id, { shell: true, term: 'xterm' }));
  // The outer one stands for the operator's terminal.
  const operators = execFile('/usr/bin/script', ['-qec', terminal.command.join(' '), '/dev/null']);
  let shown = '';
  operators.stdout!.on('data', (chunk: string) => (shown += chunk));
  const ended = new Promise((resolve) => operators.once('exit', resolve));
  const sees = (text: string) => world.until(`"${text}" on the screen`, async () => shown.includes(text));
  operators.stdin!.write('echo $TERM-$((40+2)); sleep 500\n');
  await sees('xterm-42');
  operators.stdin!.write('\u0003');
  operators.stdin!.write('echo still-$((40+3)); exit\n');
  await sees('still-43');
  await ended;
  mustOk(await app.sessions.handBack(caller(), session.id, { end: false }));
});
