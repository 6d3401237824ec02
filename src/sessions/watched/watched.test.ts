import { expect, it } from 'vitest';

import { type Actor, type Json, mustOk, systemActor } from '../../kernel/index.ts';
import { eachStore, type TestStore } from '../../store/testing.ts';
import { bootId, readProcess } from '../host/process-identity.ts';
import { operator } from '../testing.ts';
import { answerWatched, waitWatched, withdrawWatched } from './answer-watched.ts';
import { forgetWatched } from './forget-watched.ts';
import type { WatchedAgent, WatchedAnswer } from './hook-dialects.ts';
import { reportWatched, type WatchedHook } from './report-watched.ts';
import { type HeardHooks, sweepWatched } from './sweep-watched.ts';
import { listWatched } from './watched-store.ts';

eachStore((_dialect, open) => {
  it('shows a session that was started by hand from its first hook to its end (design 7)', async () => {
    const world = watchWorld(await open());
    await world.hook('SessionStart');
    expect(await world.states()).toEqual(['idle']);
    await world.hook('UserPromptSubmit', { prompt: 'secret words' });
    expect(await world.states()).toEqual(['working']);
    await world.hook('Stop');
    expect(await world.states()).toEqual(['idle']);
    await world.hook('PostToolUse', { tool_name: 'Bash', tool_input: { command: 'ls' } });
    expect(await world.states(), 'a tool’s end that is told late').toEqual(['idle']);
    await world.hook('SessionEnd');
    expect(await world.states()).toEqual([]);
    expect(await world.allFacts()).not.toContain('secret words');
  });

  it.each([
    ['claude', { allow: true }, { behavior: 'allow' }],
    ['claude', { allow: false, reason: 'not here' }, { behavior: 'deny', message: 'not here' }],
    ['codex', { allow: true }, { behavior: 'allow' }],
  ] as [WatchedAgent, WatchedAnswer, Json][])(
    'gives a human’s answer to the hook of %s (design 7)',
    async (agent, answer, decision) => {
      const world = watchWorld(await open(), agent);
      const requestId = await world.ask('Bash', { command: 'touch a' });
      expect(await world.states()).toEqual(['waiting']);
      const waiting = waitWatched(world.store, requestId, 10_000);
      mustOk(await world.answer(requestId, answer));
      expect(mustOk(await waiting)).toEqual({
        state: 'answered',
        output: { hookSpecificOutput: { hookEventName: 'PermissionRequest', decision } },
      });
      expect(await world.states()).toEqual(['working']);
      expect((await world.decisions()).map(({ state }) => state)).toEqual(['settled']);
    },
  );

  it('answers a question in words, a choice whatever its case', async () => {
    const world = watchWorld(await open());
    const input = {
      questions: [{ question: 'Which way?', header: 'Way', options: [{ label: 'Left' }, { label: 'Right' }] }],
    };
    const requestId = await world.ask('AskUserQuestion', input);
    expect((await world.decisions())[0]).toMatchObject({ kind: 'escalation_answer' });
    mustOk(await world.answer(requestId, { allow: true, text: 'left' }));
    expect(mustOk(await waitWatched(world.store, requestId, 0))).toMatchObject({
      output: {
        hookSpecificOutput: { decision: { behavior: 'allow', updatedInput: { answers: { 'Which way?': 'Left' } } } },
      },
    });
  });

  it('asks once however often a hook reports the same request', async () => {
    const world = watchWorld(await open());
    const id = crypto.randomUUID();
    await Promise.all([1, 2, 3].map(() => world.ask('Bash', { command: 'ls' }, id)));
    expect(await world.decisions()).toHaveLength(1);
  });

  it('withdraws only what was answered at the agent’s own terminal, and says yes to nothing afterwards', async () => {
    const world = watchWorld(await open());
    const first = await world.ask('Bash', { command: 'one' });
    const second = await world.ask('Bash', { command: 'two' });
    await world.hook('PostToolUse', { tool_name: 'Bash', tool_input: { command: 'one' } });
    expect(mustOk(await waitWatched(world.store, first, 0))).toEqual({ state: 'void' });
    expect(mustOk(await waitWatched(world.store, second, 0))).toEqual({ state: 'open' });
    expect(await world.answer(first, { allow: true })).toMatchObject({ refusal: { code: 'decision_closed' } });
    await world.hook('UserPromptSubmit');
    expect(mustOk(await waitWatched(world.store, second, 0))).toEqual({ state: 'void' });
    expect((await world.decisions()).map(({ state }) => state)).toEqual(['void', 'void']);
  });

  it('lets nobody but a human answer (G-20)', async () => {
    const world = watchWorld(await open());
    const requestId = await world.ask('Bash', { command: 'ls' });
    for (const actor of [
      { kind: 'session', id: 's', generation: 1 },
      { kind: 'operator-cli', id: 'cli' },
      systemActor('test'),
    ] as Actor[])
      expect(await world.answer(requestId, { allow: true }, actor)).toMatchObject({ refusal: { code: 'human_only' } });
    expect(mustOk(await waitWatched(world.store, requestId, 0))).toEqual({ state: 'open' });
  });

  it('keeps a request of another session’s hook apart', async () => {
    const world = watchWorld(await open());
    const requestId = await world.ask('Bash', { command: 'ls' });
    const other = await world.report({ requestId, input: world.input('PermissionRequest', { session_id: 'other' }) });
    expect(other).toMatchObject({ refusal: { code: 'request_taken' } });
  });

  it('ends a session whose process is gone, with what it waited for', async () => {
    const world = watchWorld(await open());
    const me = readProcess(process.pid)!;
    const alive = { pid: me.pid, startTime: me.startTime, bootId: bootId() };
    await world.report({ input: world.input('SessionStart'), process: alive });
    await world.ask('Bash', { command: 'ls' });
    expect(await sweepWatched(world.store, 'local', world.heard)).toBe(0);
    await world.report({ input: world.input('Notification'), process: alive });
    await world.report({ input: world.input('SessionStart'), process: { ...alive, startTime: me.startTime + 1 } });
    await world.ask('Bash', { command: 'rm' });
    expect(await sweepWatched(world.store, 'another node', world.heard), 'processes of another machine').toBe(0);
    expect(await sweepWatched(world.store, 'local', world.heard)).toBe(1);
    expect(await world.states()).toEqual([]);
    expect((await world.decisions()).filter(({ state }) => state === 'open')).toEqual([]);
  });

  it('withdraws a request whose hook was killed, after a minute of silence', async () => {
    const world = watchWorld(await open());
    const requestId = await world.ask('Bash', { command: 'ls' });
    await sweepWatched(world.store, 'local', world.heard);
    world.clock.advance(59_000);
    await sweepWatched(world.store, 'local', world.heard);
    expect((await world.decisions()).map(({ state }) => state)).toEqual(['open']);
    world.clock.advance(1_000);
    await sweepWatched(world.store, 'local', world.heard);
    expect(mustOk(await waitWatched(world.store, requestId, 0))).toEqual({ state: 'void' });
  });

  it('a server that was away, or a machine that slept, takes no request from a hook that still waits (design 7)', async () => {
    const world = watchWorld(await open());
    const requestId = await world.ask('Bash', { command: 'ls' });
    await sweepWatched(world.store, 'local', world.heard);
    world.clock.advance(10 * 60_000);
    // A new process: it has heard of nobody yet.
    await sweepWatched(world.store, 'local', new Map());
    expect(mustOk(await waitWatched(world.store, requestId, 0))).toEqual({ state: 'open' });
    // The same process after a sleep: its hooks ask again before the next look, since their times stood still too.
    world.clock.advance(1);
    mustOk(await waitWatched(world.store, requestId, 0));
    await sweepWatched(world.store, 'local', world.heard);
    mustOk(await world.answer(requestId, { allow: true }));
    expect(mustOk(await waitWatched(world.store, requestId, 0))).toMatchObject({ state: 'answered' });
  });

  it('keeps what was asked for a month after its end, and nothing of what still waits less', async () => {
    const world = watchWorld(await open());
    await world.ask('Bash', { command: 'old' });
    await world.hook('SessionEnd');
    world.clock.advance(20 * 86_400_000);
    await world.ask('Bash', { command: 'new' });
    expect(await forgetWatched(world.store)).toBe(0);
    world.clock.advance(11 * 86_400_000);
    expect(await forgetWatched(world.store)).toBe(1);
    expect(await world.states()).toEqual(['waiting']);
    await world.hook('SessionEnd');
    world.clock.advance(31 * 86_400_000);
    expect(await forgetWatched(world.store)).toBe(2);
    expect(await world.store.read.selectFrom('watched_session').selectAll().execute()).toEqual([]);
  });

  it('shows what only the agent’s own terminal can answer, and asks nobody else', async () => {
    const gemini = watchWorld(await open(), 'gemini');
    const message = 'Allow shell?';
    mustOk(await gemini.hook('Notification', { notification_type: 'ToolPermission', message }));
    expect(await gemini.states()).toEqual(['waiting']);
    expect(await gemini.decisions()).toEqual([]);
    await gemini.hook('AfterAgent');
    expect(await gemini.states()).toEqual(['idle']);

    const codex = watchWorld(await open(), 'codex');
    const requestId = await codex.ask('Bash', { command: 'ls' });
    await codex.store.tx((tx) => withdrawWatched(tx, requestId));
    expect(await codex.states(), 'its own dialog comes after the hook').toEqual(['waiting']);
    expect((await codex.decisions()).map(({ state }) => state)).toEqual(['void']);
  });

  it('refuses what is no hook, and puts no more than 20 open requests of one session before a human', async () => {
    const world = watchWorld(await open());
    for (const input of [
      null,
      [],
      'x',
      {},
      { session_id: '../x', hook_event_name: 'Stop' },
      { session_id: 'a' },
    ] as Json[])
      expect(await world.report({ input })).toMatchObject({ refusal: { code: 'unknown_hook' } });
    for (let index = 0; index < 25; index++) await world.ask('Bash', { command: `echo ${index}` });
    expect(await world.decisions()).toHaveLength(20);
  });
});

function watchWorld({ store, clock }: TestStore, agent: WatchedAgent = 'claude') {
  const input = (event: string, more: Record<string, Json> = {}): Json => ({
    session_id: 'native-1',
    cwd: '/work/shop',
    hook_event_name: event,
    ...more,
  });
  const report = (hook: Partial<WatchedHook>) =>
    store.tx((tx) =>
      reportWatched(tx, 'local', { agent, requestId: crypto.randomUUID(), input: null, ...hook }, ({ tool }) => ({
        summary: tool,
        detail: {},
      })),
    );
  return {
    heard: new Map() as HeardHooks,
    store,
    clock,
    input,
    report,
    hook: (event: string, more: Record<string, Json> = {}) => report({ input: input(event, more) }),
    async ask(tool: string, toolInput: Json, requestId: string = crypto.randomUUID()): Promise<string> {
      const more = { tool_name: tool, tool_input: toolInput };
      mustOk(await report({ requestId, input: input('PermissionRequest', more) }));
      return requestId;
    },
    answer: (requestId: string, answer: WatchedAnswer, actor: Actor = operator) =>
      store.tx((tx) => answerWatched(tx, { requestId, answer, actor })),
    states: async () => (await listWatched(store.read)).map(({ state }) => state),
    decisions: () =>
      store.read.selectFrom('decision_request').selectAll().orderBy('created_at').orderBy('id').execute(),
    allFacts: async () => JSON.stringify(await store.read.selectFrom('event').selectAll().execute()),
  };
}
