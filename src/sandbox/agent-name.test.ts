import { expect, test } from 'vitest';

import { agentNameOf } from './agent-name.ts';
import { agentProgramOf } from './agents.ts';

test.each([
  [['/usr/bin/claude'], 'claude', 'claude-code'],
  [['codex-acp'], 'codex-acp', 'codex'],
  [['/x/gemini.js', '--acp'], 'gemini', 'gemini-cli'],
  [['/x/node_modules/.bin/claude-agent-acp'], 'claude-agent-acp', 'claude-code'],
  [['/usr/bin/node', '/x/node_modules/.bin/codex-acp'], 'codex-acp', 'codex'],
  [['node', '--no-warnings', '/x/node_modules/@a/claude-agent-acp/dist/index.js'], 'claude-agent-acp', 'claude-code'],
  [['/usr/bin/npx', '-y', '@a/claude-agent-acp@0.101.0'], 'claude-agent-acp', 'claude-code'],
  [['npx', '@google/gemini-cli', '--acp'], 'gemini', 'gemini-cli'],
  [['pnpm', 'dlx', 'opencode-ai@latest', 'acp'], 'opencode', 'opencode'],
  [['env', 'A=b', 'opencode', 'acp'], 'opencode', 'opencode'],
  [['/x/node_modules/opencode-linux-x64/bin/opencode', 'acp'], 'opencode', 'opencode'],
  [['/opt/claude-code-acp'], 'claude-agent-acp', 'claude-code'],
])('%j is %s, however it is started (sessions decision 3)', (command, name, program) => {
  expect(agentNameOf(command)).toBe(name);
  expect(agentProgramOf(agentNameOf(command))).toBe(program);
});

test('a script of somebody else is no known agent, whatever its arguments say', () => {
  expect(agentProgramOf(agentNameOf(['node', '/x/my-agent.js', 'claude']))).toBeUndefined();
  expect(agentProgramOf(agentNameOf(['node', '--version']))).toBeUndefined();
  expect(agentProgramOf(agentNameOf([]))).toBeUndefined();
});
