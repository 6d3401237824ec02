import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import type { AgentProgram } from './agents.ts';
import { readLogIn } from './read-log-in.ts';

const secret = 'sk-very-secret-0123456789';

function homeWith(files: Record<string, unknown>): string {
  const home = mkdtempSync(join(tmpdir(), 'chantier-log-in-'));
  onTestFinished(() => rmSync(home, { recursive: true }));
  for (const [path, content] of Object.entries(files)) {
    mkdirSync(dirname(join(home, path)), { recursive: true });
    writeFileSync(join(home, path), typeof content === 'string' ? content : JSON.stringify(content));
  }
  return home;
}

const token = (claims: unknown): string => `e30.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.${secret}`;
const chatgpt = { email: 'ada@example.org', 'https://api.openai.com/auth': { chatgpt_plan_type: 'plus' } };

const logIns: [AgentProgram, Record<string, unknown>, string | null, string][] = [
  [
    'claude-code',
    {
      '.claude/.credentials.json': { claudeAiOauth: { accessToken: secret, subscriptionType: 'max' } },
      '.claude.json': { oauthAccount: { emailAddress: 'ada@example.org' } },
    },
    'ada@example.org',
    'Claude max plan',
  ],
  ['codex', { '.codex/auth.json': { tokens: { id_token: token(chatgpt) } } }, 'ada@example.org', 'ChatGPT plus plan'],
  ['codex', { '.codex/auth.json': { OPENAI_API_KEY: secret } }, null, 'OpenAI API key, by use'],
  [
    'gemini-cli',
    {
      '.gemini/oauth_creds.json': { access_token: secret, refresh_token: secret },
      '.gemini/google_accounts.json': { active: 'ada@example.org', old: [] },
    },
    'ada@example.org',
    'Google account (its free tier or Code Assist licence)',
  ],
  [
    'opencode',
    {
      '.local/share/opencode/auth.json': {
        anthropic: { type: 'oauth', access: secret },
        openai: { type: 'api', key: secret },
      },
    },
    null,
    'anthropic (log-in), openai (API key)',
  ],
  [
    'copilot',
    {
      '.copilot/config.json': {
        last_logged_in_user: { host: 'https://github.com', login: 'ada' },
        copilot_tokens: { x: secret },
      },
    },
    'ada',
    'GitHub Copilot of ada',
  ],
];

it.each(logIns)(
  'who is logged in at %s and who pays is read from its own files, without a token',
  (program, files, as, billed) => {
    const read = readLogIn(program, homeWith(files));
    expect(read).toEqual({ as, billed });
    expect(JSON.stringify(read)).not.toContain(secret);
  },
);

it.each(logIns)('nobody is logged in at %s: no file, a torn one, another kind, a link', (program, files) => {
  const [path = ''] = Object.keys(files);
  expect(readLogIn(program, homeWith({}))).toBeUndefined();
  for (const content of ['{"torn', '[]', 'null', '""', '{}'])
    expect(readLogIn(program, homeWith({ [path]: content }))).toBeUndefined();
  const home = homeWith({ real: files[path] });
  mkdirSync(dirname(join(home, path)), { recursive: true });
  symlinkSync(join(home, 'real'), join(home, path));
  expect(readLogIn(program, home)).toBeUndefined();
});

it('what an agent wrote into such a file reaches no terminal: control characters, markup and long texts are not taken over', () => {
  const evil = '\u001B[2Jada@example.org<script>';
  const home = homeWith({
    '.claude/.credentials.json': { claudeAiOauth: { accessToken: 'x', subscriptionType: evil } },
    '.claude.json': { oauthAccount: { emailAddress: evil } },
    '.local/share/opencode/auth.json': { [evil]: { type: 'api' }, ['x'.repeat(500)]: { type: 'api' } },
  });
  expect(readLogIn('claude-code', home)).toEqual({ as: null, billed: 'Claude account' });
  expect(readLogIn('opencode', home)).toBeUndefined();
});
