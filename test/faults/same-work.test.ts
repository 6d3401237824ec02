import { spawn } from 'node:child_process';
import { on, once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { expect, test } from 'vitest';

import { mustOk } from '../../src/kernel/index.ts';
import { openWorld } from '../app/world.ts';
import { commitAll, folderState, git, writeFiles } from '../repositories/index.ts';

const files = ['../agents/follows-workflow.mjs', '../../examples/agents/scripted-agent.mjs'];
const command = [process.execPath, ...files.map((file) => join(import.meta.dirname, file))];

/** What a team has of its own: instructions, a slash command, steps with gates, the second of which fails at first. */
const workflow = {
  'AGENTS.md': 'Work as `workflow/steps.json` says.\n',
  'CLAUDE.md': '@AGENTS.md\n',
  '.claude/commands/gov.md': 'Run the workflow for $ARGUMENTS.\n',
  '.claude/settings.json': '{ "permissions": { "ask": ["Bash"] } }\n',
  'workflow/steps.json': JSON.stringify([
    { step: 'look', gate: ['make', 'check'] },
    { step: 'implement', write: { 'greeting.txt': 'bye mars\n' }, gate: ['make', 'check'] },
    { step: 'mend', write: { 'greeting.txt': 'hello mars\n' }, gate: ['make', 'check'] },
    { step: 'tidy', gate: ['git', 'diff', '--quiet', '--', 'Makefile', 'AGENTS.md'] },
  ]),
};

/** One prompt to the agent, as any client of the protocol gives it; resolves when the turn has ended. */
async function workAlone(folder: string, home: string, request: string): Promise<void> {
  const agent = spawn(command[0]!, command.slice(1), {
    cwd: folder,
    env: { PATH: process.env.PATH, HOME: home, GIT_CONFIG_GLOBAL: '/dev/null' },
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const gone = once(agent, 'exit');
  const frames = on(createInterface({ input: agent.stdout }), 'line', { close: ['close'] });
  let id = 0;
  const ask = async (method: string, params: object): Promise<Record<string, unknown>> => {
    id += 1;
    agent.stdin.write(`${JSON.stringify({ jsonrpc: '2.0', id, method, params })}\n`);
    for (;;) {
      const next = await frames.next();
      if (next.done) throw new Error(`the agent ended before it answered ${method}`);
      const frame = JSON.parse(String((next.value as unknown[])[0])) as {
        id?: number;
        result?: Record<string, unknown>;
      };
      if (frame.id === id) return frame.result ?? expect.fail(`${method} was refused`);
    }
  };
  await ask('initialize', { protocolVersion: 1, clientCapabilities: {} });
  const { sessionId } = await ask('session/new', { cwd: folder, mcpServers: [] });
  await ask('session/prompt', { sessionId, prompt: [{ type: 'text', text: request }] });
  agent.stdin.end();
  await gone;
}

test('TC-NR-01: supervision changes nothing of an agent’s own workflow: alone or supervised, the same steps, gates, verdicts and tree, and no file of the workflow is touched (CA-08)', async () => {
  const world = await openWorld();
  const { app, caller, folder } = world;
  const checkout = world.checkout();
  writeFiles(checkout, workflow);
  const base = commitAll(checkout, 'Our workflow');
  const before = folderState(checkout);
  const alone = join(folder, 'alone');
  git(folder, 'clone', '-q', checkout, alone);
  for (const [name, value] of [
    ['user.name', 'Ada'],
    ['user.email', 'ada@example.org'],
  ])
    git(alone, 'config', name!, value!);
  await workAlone(alone, join(folder, 'alone-home'), 'Greet mars');

  mustOk(
    await app.work.addAgent(caller(), {
      codename: 'hopper',
      family: 'claude',
      roles: ['author'],
      driver: 'acp',
      command,
    }),
  );
  const run = await world.run(
    checkout,
    'Greet mars',
    {
      author: [],
      reviewer: [
        [
          ['verdict', 'approve', [], ['greeting.txt', 'workflow/journal.json']],
          ['done', 'reviewed'],
        ],
      ],
    },
    { agent: 'hopper' },
  );
  const offer = await world.decision(run, 'landing');
  expect(folderState(checkout)).toEqual(before);
  mustOk(await app.decisions.settle(caller(), offer.id, { verdict: 'approve' }));
  await world.until('the landing', async () => git(checkout, 'rev-parse', 'main') !== base);

  const journal = JSON.parse(git(alone, 'show', 'HEAD:workflow/journal.json')) as { steps: object[]; found: object };
  expect(journal.steps).toEqual([
    { step: 'look', gate: 'make check', exit: 0, verdict: 'PASS' },
    { step: 'implement', gate: 'make check', exit: 2, verdict: 'FAIL' },
    { step: 'mend', gate: 'make check', exit: 0, verdict: 'PASS' },
    { step: 'tidy', gate: 'git diff --quiet -- Makefile AGENTS.md', exit: 0, verdict: 'PASS' },
  ]);
  expect(JSON.parse(git(checkout, 'show', 'main:workflow/journal.json'))).toEqual(journal);
  expect(git(checkout, 'rev-parse', 'main^{tree}')).toBe(git(alone, 'rev-parse', 'HEAD^{tree}'));
  expect(git(checkout, 'diff', '--name-only', base, 'main').split('\n')).toEqual([
    'greeting.txt',
    'workflow/journal.json',
  ]);
  expect(Object.keys(journal.found)).toEqual(expect.arrayContaining(Object.keys(workflow)));
});
