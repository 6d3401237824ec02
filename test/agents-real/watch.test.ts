import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { node } from '../e2e/built-package.ts';
import { createInstance, type Instance } from '../e2e/instance.ts';
import { startBotServer } from '../notify/bot-server.ts';
import { installAgent } from './install-agent.ts';
import { type ModelStep, scriptText } from './model-script.ts';
import { type ModelServer, startModelServer } from './model-server.ts';

const installed = await installAgent('claude-agent-acp');
const title =
  'refused' in installed
    ? `Claude Code started by hand (did not run: ${installed.refused})`
    : 'Claude Code started by hand';
/** A Telegram user on the owner list. */
const owner = 77;
const key = 'dummy-key-123456789012345678901234567890';

describe.skipIf('refused' in installed)(title, () => {
  let instance: Instance;
  let model: ModelServer;
  let terminal: ChildProcessWithoutNullStreams;
  let screen = '';
  const settings = (): string => join(instance.env.HOME!, '.claude', 'settings.json');
  const before = '{\n\t"theme": "dark",\n\t"permissions": {"allow": []}\n}\n';

  beforeAll(async () => {
    model = await startModelServer();
    instance = createInstance({ PATH: process.env.PATH });
    await instance.up();
    await instance.init();
    const folder = join(instance.root, 'shop');
    mkdirSync(folder);
    mkdirSync(join(settings(), '..'));
    writeFileSync(settings(), before);
    const trusted = { [folder]: { hasTrustDialogAccepted: true } };
    const knownKey = { approved: [key.slice(-20)], rejected: [] };
    const state = { hasCompletedOnboarding: true, theme: 'dark', customApiKeyResponses: knownKey, projects: trusted };
    writeFileSync(join(instance.env.HOME!, '.claude.json'), JSON.stringify(state));
    await instance.must(['watch', 'install', 'claude', '--yes']);
    terminal = openTerminal(folder);
    terminal.stdout.on('data', (bytes: Buffer) => (screen += bytes.toString('latin1')));
    await instance.until('the prompt of the terminal', async () => screen.includes('shortcuts'), 60_000);
  });

  afterAll(async () => {
    terminal?.kill('SIGKILL');
    await instance?.dispose();
    await model?.close();
  });

  it('appears, asks, is answered from Telegram and elsewhere while its own dialog is open, survives kill -9 of the server, and leaves no trace (design 7)', async () => {
    const bot = await startBotServer();
    instance.env.CHANTIER_TELEGRAM_API = bot.url;
    await instance.kill();
    await instance.up();
    for (const [path, body] of [
      ['/api/notify/telegram', { token: bot.token }],
      [`/api/notify/owners/${owner}`, {}],
    ] as const)
      expect(await instance.send('PUT', path, body, { proof: true })).toMatchObject({ status: 200 });

    const shown = await watched(({ state }) => state === 'idle');
    expect(shown).toMatchObject({ agent: 'claude', folder: join(instance.root, 'shop') });

    await type([{ tool: 'Bash', input: { command: 'touch allowed.txt', description: 'a step' } }, { say: 'Done.' }]);
    const asked = await bot.shown(({ text }) => text.includes('touch allowed.txt'));
    bot.press(owner, asked.message_id, asked.buttons.find(({ text }) => text.includes('Approve'))!.callback_data);
    await untilThere('allowed.txt');
    await watched(({ state }) => state === 'idle');

    await type([{ tool: 'Bash', input: { command: 'touch refused.txt', description: 'a step' } }, { say: 'Done.' }]);
    await settle('call_approval', { verdict: 'refuse', note: 'rather not today' });
    await heard('rather not today');
    expect(existsSync(join(instance.root, 'shop', 'refused.txt'))).toBe(false);

    const options = ['Left', 'Right'].map((label) => ({ label, description: label }));
    const questions = [{ question: 'Which way?', header: 'Way', multiSelect: false, options }];
    await type([{ tool: 'AskUserQuestion', input: { questions } }, { say: 'Done.' }]);
    const question = await decision('escalation_answer');
    await instance.kill('SIGKILL');
    await instance.up();
    await instance.send(
      'PUT',
      `/api/decisions/${question}/verdict`,
      { verdict: 'respond', text: 'right' },
      { proof: true },
    );
    await heard('Right');

    await type([{ tool: 'Bash', input: { command: 'touch there.txt', description: 'a step' } }, { say: 'Done.' }]);
    const open = await decision('call_approval');
    // Its own dialog may come a moment after the hook.
    const yes = setInterval(() => terminal.stdin.write('1'), 2_000);
    await untilThere('there.txt').finally(() => clearInterval(yes));
    await instance.until('the decision to be withdrawn', async () => {
      const { state } = (await instance.get(`/api/decisions/${open}`)) as { state: string };
      return state === 'void';
    });

    await watched(({ state }) => state === 'idle');
    terminal.kill('SIGKILL');
    await instance.until('the session to be gone', async () => (await all()).length === 0, 60_000);
    await instance.must(['watch', 'remove']);
    expect(readFileSync(settings(), 'utf8')).toBe(before);
    expect((await instance.must(['doctor', '--deep'])).code).toBe(0);
  });

  /** The agent as a person starts it, in a terminal of its own. */
  function openTerminal(folder: string): ChildProcessWithoutNullStreams {
    const program = join(
      (installed as { folder: string }).folder,
      'node_modules/@anthropic-ai/claude-agent-sdk-linux-x64/claude',
    );
    const line = `stty rows 40 cols 120; exec '${program}' --permission-mode default`;
    return spawn('script', ['-qfec', line, '/dev/null'], {
      cwd: folder,
      detached: true,
      env: {
        PATH: `${join(node, '..')}:${process.env.PATH}`,
        HOME: instance.env.HOME,
        SHELL: '/bin/sh',
        TERM: 'xterm-256color',
        LANG: 'C.UTF-8',
        ANTHROPIC_BASE_URL: `http://127.0.0.1:${model.port}`,
        ANTHROPIC_API_KEY: key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
        DISABLE_AUTOUPDATER: '1',
      },
    });
  }

  interface Watched {
    agent: string;
    folder: string;
    state: string;
  }

  const all = async (): Promise<Watched[]> => ((await instance.get('/api/status')) as { watched: Watched[] }).watched;
  const watched = (is: (session: Watched) => boolean): Promise<Watched> =>
    instance.until(`a watched session: ${is}`, async () => (await all()).find(is), 60_000);
  /** Types a prompt. A return that comes while the text is still taken in belongs to it, so it is given once more when nothing happens. */
  const type = async (steps: ModelStep[]): Promise<void> => {
    const shown = screen.length;
    terminal.stdin.write(scriptText(steps));
    await instance.until('the text on the screen', async () => screen.length > shown + 40, 60_000);
    for (const patienceMs of [10_000, 10_000, 60_000]) {
      await sleep(1_000);
      terminal.stdin.write('\r');
      const isTaken = async (): Promise<boolean> => (await all()).some(({ state }) => state !== 'idle');
      if (await instance.until('the prompt to be taken', isTaken, patienceMs).catch(() => false)) return;
    }
  };
  const decision = async (kind: string): Promise<string> =>
    instance.until(
      `a decision ${kind}`,
      async () => ((await instance.get(`/api/decisions?kind=${kind}`)) as { items: { id: string }[] }).items[0]?.id,
      60_000,
    );
  const settle = async (kind: string, verdict: object): Promise<void> => {
    const { status } = await instance.send('PUT', `/api/decisions/${await decision(kind)}/verdict`, verdict, {
      proof: true,
    });
    expect(status).toBe(200);
    await watched(({ state }) => state === 'idle');
  };
  const untilThere = (name: string): Promise<boolean | string> =>
    instance.until(name, async () => existsSync(join(instance.root, 'shop', name)), 60_000);
  const heard = (words: string): Promise<boolean> =>
    instance.until(
      `the model to hear ${words}`,
      async () => model.asked.some((one) => one.heard.includes(words)),
      60_000,
    );
});
