import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, fakeProfile, plainCommand, survivorsOf } from '../../../../test/agents/agent-world.ts';
import { mustOk } from '../../../kernel/index.ts';
import { findPty, openScreen, parseTerminalFrame, ptyHostArguments, type ScreenView } from '../../../terminal/index.ts';
import { type Generation, isAlive } from '../../host/index.ts';

let world: AgentWorld;
beforeEach(() => {
  world = new AgentWorld();
});
afterEach(() => world.close());

const profile = fakeProfile({ name: 'tui', driver: 'command', mode: null, tty: true });
const node = process.execPath;
const host = join(import.meta.dirname, '../../../terminal/host/main.ts');
const drawing = join(import.meta.dirname, '../../../../test/agents/draws-screen.mjs');

function atTerminal(words: string[], env: Record<string, string> = {}) {
  const pty = findPty();
  if (!pty.found) throw new Error(pty.why);
  return plainCommand(
    [node, '--disable-warning=ExperimentalWarning', host, ...ptyHostArguments(pty.module), ...words],
    env,
  );
}

/** The screen as the journal tells it, from byte `from`. */
async function screenOf(generation: Generation, from = 0): Promise<ScreenView> {
  const screen = await openScreen({ cols: 80, rows: 24 });
  for (const line of readFileSync(generation.files.journal).subarray(from).toString().split('\n')) {
    const frame = parseTerminalFrame(line);
    if (frame) await screen.apply(frame);
  }
  return screen.view();
}

/** Waits until the screen is as wanted. */
async function shows(generation: Generation, wanted: (text: string) => boolean): Promise<ScreenView> {
  const deadline = performance.now() + 20_000;
  for (;;) {
    const view = await screenOf(generation);
    if (wanted(view.text.join('\n'))) return view;
    if (performance.now() > deadline) throw new Error(`the screen stayed\n${view.text.join('\n')}`);
    await new Promise((resolve) => {
      const stop = generation.watch(() => (stop(), resolve(undefined)));
    });
  }
}

test('a full-screen program runs at a terminal, its glyphs whole though the locale was none; nothing it draws is read (sessions case 52, case 55)', async () => {
  const generation = await world.start(atTerminal([node, drawing], { LANG: '', LC_ALL: 'C' }));
  const { link, witness } = await world.attach(generation, { profile });
  await witness.event('opened');
  const view = await shows(generation, (text) => text.includes('keys: 0'));
  expect(view.text[0]).toBe('✳ Draws 120x32');
  expect(view.text[31]).toBe('end é漢字');

  mustOk((await link.terminal?.send({ id: 'r1', cols: 100, rows: 30 }))!);
  await shows(generation, (text) => text.includes('100x30'));
  for (let again = 0; again < 2; again += 1) mustOk((await link.terminal?.send({ id: 'k1', text: 'sesame' }))!);
  await shows(generation, (text) => text.includes('keys: 6'));
  expect(readFileSync(generation.files.journal, 'utf8')).not.toContain('sesame');
  expect(await link.prompt('p1', 'hello')).toMatchObject({ ok: false, refusal: { code: 'no_prompts' } });

  mustOk((await link.terminal?.send({ id: 'k2', text: 'q' }))!);
  expect(await witness.flag('exited')).toMatchObject({ cause: 'exit-status', code: 7 });
  expect(witness.events).toEqual([
    { kind: 'peer-seen', agentName: 'tui' },
    { kind: 'opened', conversationId: null, mode: null, isResumed: false },
    { kind: 'state', state: 'running' },
  ]);
  expect(await link.terminal?.send({ id: 'k3', text: 'x' })).toMatchObject({ ok: false });
});

test('outlives its server and is adopted: the screen is there, keys reach it, one that was sent before is not typed again (sessions case 5, case 50)', async () => {
  const generation = await world.start(atTerminal([node, drawing]));
  const first = await world.attach(generation, { profile });
  await first.witness.event('opened');
  mustOk((await first.link.terminal?.send({ id: 'k1', text: 'ab' }))!);
  await shows(generation, (text) => text.includes('keys: 2'));
  await first.link.detach();
  const second = await world.attach(await world.reopen(generation), { profile, consumedTo: first.witness.consumedTo });
  for (const id of ['k1', 'k2']) mustOk((await second.link.terminal?.send({ id, text: 'cd' }))!);
  await shows(generation, (text) => text.includes('keys: 4'));
  expect(second.link.snapshot()).toMatchObject({ phase: 'open', turn: 'running' });

  // What lives is the program, not its terminal.
  const program = generation.record()!;
  process.kill(program.agent.pid, 'SIGKILL');
  expect(await second.witness.flag('exited')).toMatchObject({ cause: 'exit-status', code: 137 });
  expect(second.link.snapshot().phase).toBe('ended');
  await second.link.stop();
  expect(survivorsOf(generation)).toEqual([]);
});

test('a program that is killed ends its session with the signal; one that is stopped is hung up, and a stubborn one killed', async () => {
  const killed = await world.attach(await world.start(atTerminal(['/bin/sh', '-c', 'echo ready; kill -9 $$'])), {
    profile,
  });
  expect(await killed.witness.flag('exited')).toMatchObject({ cause: 'exit-status', code: 137 });

  const polite = await world.start(atTerminal([node, drawing]));
  const stopped = await world.attach(polite, { profile });
  await shows(polite, (text) => text.includes('keys: 0'));
  expect(await stopped.link.stop()).toMatchObject({ endedBy: 'end-of-input', survivors: [] });

  const stubborn = await world.start(atTerminal([node, drawing, 'stubborn']));
  const { link, witness } = await world.attach(stubborn, { profile });
  await shows(stubborn, (text) => text.includes('keys: 0'));
  expect(await link.stop()).toMatchObject({ endedBy: 'kill', survivors: [] });
  expect(await witness.flag('exited')).toMatchObject({ isAfterLatch: true });
  expect(isAlive(stubborn.record()!.wrapper)).toBe(false);
});

test('characters that two writes share arrive whole', async () => {
  const bytes = String.raw`printf '\360\237'; sleep 0.1; printf '\246\204 \303'; sleep 0.1; printf '\244\n'`;
  const generation = await world.start(atTerminal(['/bin/sh', '-c', bytes]));
  const { witness } = await world.attach(generation, { profile });
  await witness.flag('exited');
  expect((await screenOf(generation)).text[0]).toBe('🦄 ä');
});

test('a host that cannot start is a start that failed, with its reason', async () => {
  const command = plainCommand([
    node,
    '--disable-warning=ExperimentalWarning',
    host,
    '/nowhere/pty.js',
    '80',
    '24',
    '--',
    '/bin/true',
  ]);
  const generation = await world.start(command);
  const { witness } = await world.attach(generation, { profile });
  expect(await witness.event('start-failed')).toMatchObject({ code: 'no_process' });
  expect(await generation.stderrTail()).toContain('/nowhere/pty.js');
});
