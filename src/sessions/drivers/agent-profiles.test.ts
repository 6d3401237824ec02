import { expect, it } from 'vitest';

import { agentProfiles, profileForCommand } from './agent-profiles.ts';
import { driverFor } from './driver-for.ts';

it.each(agentProfiles.map((profile) => [profile.name, profile] as const))(
  '%s has a launch line of its own, carries no key, and asks before it acts (S-74, S-27, decision 3)',
  (_name, profile) => {
    expect(agentProfiles.filter(({ command }) => command[0] === profile.command[0])).toHaveLength(1);
    const names = Object.keys(profile.environment);
    expect(names.filter((name) => /KEY|TOKEN|SECRET|PASS/.test(name) && name !== 'MCP_TOOL_TIMEOUT')).toEqual([]);
    // OpenCode's modes say nothing of what it asks; a variable does, above every configuration.
    if (profile.mode === null) expect(profile.environment.OPENCODE_PERMISSION).toContain('"bash":"ask"');
    else expect(profile.mode).toMatch(/^(default|agent|.*#agent)$/);
  },
);

it('servers that an agent takes by an argument are named there without their environment: no secret is on a command line (S-74)', () => {
  const copilot = agentProfiles.find(({ name }) => name === 'copilot')!;
  const server = { name: 'chantier', command: '/x/node', args: ['mcp'], env: { CHANTIER_TOKEN: 'secret' } };
  const start = { resume: null, mcpServers: [server], ownSandboxOff: [] };
  const [program, acp, name, json] = driverFor(copilot).commandFor?.(copilot, start) ?? [];
  expect([program, acp, name]).toEqual(['copilot', '--acp', '--additional-mcp-config']);
  expect(JSON.parse(json ?? '')).toEqual({
    mcpServers: { chantier: { type: 'local', command: '/x/node', args: ['mcp'], tools: ['*'] } },
  });
  const gemini = agentProfiles.find(({ name: one }) => one === 'gemini')!;
  expect(driverFor(gemini).commandFor?.(gemini, start)).toEqual(['gemini', '--acp']);
});

it('a known agent keeps its mode behind a runner; an unknown one gets its own command, and no mode is made up for it (S-74)', () => {
  const known = { name: 'turing', driver: 'acp' as const, family: 'claude' };
  const behind = profileForCommand({ ...known, command: ['/x/npx', '-y', '@agentclientprotocol/claude-agent-acp@1'] });
  expect(behind).toMatchObject({ name: 'turing', mode: 'default', command: ['/x/npx', '-y', expect.any(String)] });
  const other = profileForCommand({ ...known, command: ['/opt/wright', '--acp'] });
  expect(other).toMatchObject({ mode: null, environment: {}, environmentNames: [], command: ['/opt/wright', '--acp'] });
  expect(profileForCommand({ ...known, driver: 'claude', command: ['/x/anything'] }).mode).toBe('default');
});
