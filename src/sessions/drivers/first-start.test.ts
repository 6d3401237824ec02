import { expect, test } from 'vitest';

import { firstStartFiles } from './first-start.ts';
import { interactiveCommand } from './interactive-command.ts';

const folder = '/work/a.b/clone';
const claude = { driver: 'claude', command: ['/x/claude'] } as const;
const codexAcp = { driver: 'acp', command: ['/x/codex-acp'] } as const;
const codex = { driver: 'codex', command: ['/x/codex', 'exec', '-p', 'fast'] } as const;

function claudeState(before: string | undefined, holds = true): unknown {
  const env = { ANTHROPIC_API_KEY: `sk-${'a'.repeat(40)}` };
  const text = firstStartFiles(claude, { folder, env, holds })[0]!.content(before);
  return text === undefined ? undefined : JSON.parse(text);
}

test('Claude Code asks for no theme, no trust and no key at the first start of a terminal, and loses nothing of what it knew', () => {
  const before = { theme: 'light', userID: 'u', projects: { '/other': { a: 1 }, [folder]: { allowedTools: ['x'] } } };
  expect(claudeState(JSON.stringify(before))).toEqual({
    theme: 'light',
    userID: 'u',
    hasCompletedOnboarding: true,
    projects: { '/other': { a: 1 }, [folder]: { allowedTools: ['x'], hasTrustDialogAccepted: true } },
    customApiKeyResponses: { rejected: [], approved: ['a'.repeat(20)] },
  });
  expect(claudeState(undefined)).toMatchObject({ theme: 'dark', hasCompletedOnboarding: true });
});

test('a folder is not trusted for a human where no sandbox holds, and a state that cannot be read is not replaced', () => {
  expect(claudeState(undefined, false)).not.toHaveProperty('projects');
  expect(claudeState('{"theme": ')).toBeUndefined();
});

test('Codex in a terminal has the key of the session and what its adapter was told, and no log-in that is there is replaced', () => {
  const config = { model: 'm"1', tools: { 'a.b': [1, true, null] }, none: null };
  const env = { OPENAI_API_KEY: 'sk-1', CODEX_CONFIG: JSON.stringify(config), MODEL_PROVIDER: 'mine' };
  const [logIn, layer] = firstStartFiles(codexAcp, { folder, env, holds: true });
  expect(JSON.parse(logIn!.content(undefined)!)).toEqual({ auth_mode: 'apikey', OPENAI_API_KEY: 'sk-1' });
  expect(logIn!.content('{}')).toBeUndefined();
  expect(layer!.content(undefined)).toBe(
    '"model" = "m\\"1"\n"tools" = { "a.b" = [1, true] }\n"model_provider" = "mine"\n',
  );
  const words = (variables: string[]) =>
    interactiveCommand(codexAcp, 'id', { ownSandboxOff: ['--off'], variables, trustedFolder: folder })?.args;
  const trust = ['-c', `projects={"${folder}"={trust_level="trusted"}}`];
  expect(words(Object.keys(env))).toEqual(['resume', '--profile', 'chantier-wheel', ...trust, '--off', 'id']);
  expect(words(['OPENAI_API_KEY'])).toEqual(['resume', ...trust, '--off', 'id']);
  expect(firstStartFiles(codex, { folder, env: {}, holds: true })[0]!.content(undefined)).toBeUndefined();
});

test('words that an operator registered go to the terminal, and Claude Code does not decide by itself there', () => {
  const session = { ownSandboxOff: [], variables: [] };
  expect(interactiveCommand(codex, 'id', session)?.args).toEqual(['resume', '-p', 'fast', 'id']);
  const args = (...own: string[]) =>
    interactiveCommand({ ...claude, command: ['/x/claude', ...own] }, 'id', session)?.args;
  expect(args('-p')).toEqual(['--permission-mode', 'default', '--resume', 'id']);
  expect(args('--permission-mode=plan')).toEqual(['--permission-mode=plan', '--resume', 'id']);
});
