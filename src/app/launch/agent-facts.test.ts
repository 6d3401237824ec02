import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { accountOf } from './account-of.ts';
import { describeAgentFacts, readAgentFacts } from './agent-facts.ts';

/** A machine with an installed adapter, its link on the PATH, and a Codex log-in. */
function machine() {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'chantier-facts-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const adapter = join(root, 'lib/node_modules/@agentclientprotocol/codex-acp');
  for (const folder of [join(adapter, 'dist'), join(root, 'bin'), join(root, 'home/.codex')])
    mkdirSync(folder, { recursive: true });
  writeFileSync(join(adapter, 'package.json'), '{"version":"2.6.0"}');
  writeFileSync(join(adapter, 'dist/index.js'), '');
  symlinkSync(join(adapter, 'dist/index.js'), join(root, 'bin/codex-acp'));
  writeFileSync(join(root, 'home/.codex/auth.json'), '{"OPENAI_API_KEY":"sk-secret"}');
  return { bin: join(root, 'bin/codex-acp'), home: join(root, 'home') };
}

const agent = (command: string[], changes: Record<string, unknown> = {}) => ({
  codename: 'mitnick',
  account: null,
  driver: 'acp' as const,
  command: JSON.stringify(command),
  env_names: '[]',
  ...changes,
});

it('doctor says binary, version, log-in, who pays and account, without starting the agent and without a token (design 7)', () => {
  const { bin, home } = machine();
  const facts = readAgentFacts(agent([bin]), home, {});
  expect(facts).toEqual({
    binary: bin,
    version: '2.6.0',
    account: 'log-in:codex',
    loggedIn: 'an account that its files do not name',
    billed: 'OpenAI API key, by use',
    cure: null,
  });
  const line = describeAgentFacts({ family: 'codex' }, facts);
  expect(line).toContain('2.6.0, family codex');
  expect(line).not.toContain('sk-secret');
});

it('an agent that nobody is logged in at, or whose program is gone, comes with what to run', () => {
  const { bin, home } = machine();
  expect(readAgentFacts(agent([bin]), join(home, 'other'), {}).cure).toBe(
    'Not logged in: run `codex login`, or hand over OPENAI_API_KEY or CODEX_API_KEY with `--env`.',
  );
  expect(readAgentFacts(agent([`${bin}-gone`]), home, {})).toMatchObject({ binary: null, version: null });
});

it('the version of a runner, or of a project around a script, is never said as the agent’s', () => {
  const root = realpathSync(mkdtempSync(join(tmpdir(), 'chantier-facts-')));
  onTestFinished(() => rmSync(root, { recursive: true }));
  const write = (path: string, text: string): string => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
    return join(root, path);
  };
  // A runner with a package of its own around it, as the npm package `node` is.
  write('runtime/package.json', '{"version":"24.21.0"}');
  const node = write('runtime/bin/node', '');
  write('project/package.json', '{"version":"9.9.9","bin":{"agent":"./own.mjs"}}');
  const loose = write('project/loose.mjs', '');
  const own = write('project/own.mjs', '');
  const versionOf = (...command: string[]) => readAgentFacts(agent(command), root, {}).version;
  expect(versionOf(node, 'script.mjs')).toBeNull();
  expect(versionOf(node, '--eval', '1')).toBeNull();
  expect(versionOf(node, loose)).toBeNull();
  expect(versionOf(node, loose, own)).toBeNull();
  expect(versionOf(node, own, join(root, 'project'))).toBe('9.9.9');
  write('lib/node_modules/@x/agent/package.json', '{"version":"1.2.3"}');
  expect(versionOf(node, write('lib/node_modules/@x/agent/dist/cli.js', ''))).toBe('1.2.3');
});

it('agents of one log-in or of one key share an account, others do not (design 7)', () => {
  const env = { ANTHROPIC_API_KEY: 'x' };
  const keyed = { env_names: '["ANTHROPIC_API_KEY"]' };
  expect(accountOf(agent(['/x/claude-agent-acp']), env)).toBe('log-in:claude-code');
  expect(accountOf(agent(['/x/claude'], { driver: 'claude' }), env)).toBe('log-in:claude-code');
  expect(
    accountOf(agent(['/x/node', '/y/node_modules/@agentclientprotocol/claude-agent-acp/dist/index.js']), env),
  ).toBe('log-in:claude-code');
  expect(accountOf(agent(['/x/claude-agent-acp'], keyed), env)).toBe('key:ANTHROPIC_API_KEY');
  expect(accountOf(agent(['/x/opencode', 'acp'], keyed), env)).toBe('key:ANTHROPIC_API_KEY');
  expect(accountOf(agent(['/x/claude-agent-acp'], keyed), {})).toBe('log-in:claude-code');
  expect(accountOf(agent(['/x/wright', '--acp']), env)).toBe('agent:mitnick');
  expect(accountOf(agent(['/x/claude-agent-acp'], { account: 'team' }), env)).toBe('team');
});
