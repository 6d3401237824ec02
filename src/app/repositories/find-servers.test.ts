import { mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { writeFiles } from '../../../test/repositories/index.ts';
import { proposeTier } from '../../gate/index.ts';
import { findServers } from './find-servers.ts';

function setup(files: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'chservers-'));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  writeFiles(folder, { 'app/.keep': '', 'home/.keep': '', ...files });
  return { top: join(folder, 'app'), home: join(folder, 'home') };
}

const json = (value: unknown): string => JSON.stringify(value);

test('servers of every agent’s settings are found with a class for each tool that is named; none is started (design 8)', async () => {
  const { top, home } = setup({
    'app/.mcp.json': json({
      mcpServers: { tracker: { command: 'npx', args: ['-y', 'tracker-mcp'], env: { TRACKER_TOKEN: 'hidden-value' } } },
    }),
    'app/.claude/settings.json': json({
      permissions: { allow: ['mcp__tracker__list_issues', 'mcp__tracker__deleteIssue', 'Bash(ls)'] },
    }),
    'app/.gemini/settings.json': json({
      mcpServers: {
        docs: { httpUrl: 'https://user:pw@docs.example.org/mcp?key=hidden', includeTools: ['update_page'] },
      },
    }),
    'home/.codex/config.toml':
      'model = "x"\n[mcp_servers.db]\ncommand = "db-mcp"\nargs = ["--password=hunter2222", "main"]\nenabled_tools = ["query", "run_sql"]\n[mcp_servers.db.env]\nKEY = "hidden"\n[other]\ncommand = "not this"\n',
  });
  const found = await findServers(top, home);
  expect(found).toEqual([
    {
      name: 'tracker',
      source: '.mcp.json',
      runs: 'npx -y tracker-mcp',
      tools: [
        { name: 'list_issues', proposed: 'read-only' },
        { name: 'deleteIssue', proposed: 'privileged' },
      ],
    },
    {
      name: 'docs',
      source: '.gemini/settings.json',
      runs: 'https://docs.example.org/mcp',
      tools: [{ name: 'update_page', proposed: 'reversible' }],
    },
    {
      name: 'db',
      source: '~/.codex/config.toml',
      runs: 'db-mcp --password=[secret, 10 characters] main',
      tools: [
        { name: 'query', proposed: 'read-only' },
        { name: 'run_sql', proposed: 'privileged' },
      ],
    },
  ]);
  expect(json(found)).not.toMatch(/hidden|hunter/);
});

test('settings that are broken, hostile or a link are no fault', async () => {
  const { top, home } = setup({
    'app/.mcp.json': '{ not json',
    'app/.cursor/mcp.json': json({
      mcpServers: { 'e\u001b[31mvil': { command: 7, args: 'x', includeTools: ['a\nb'] } },
    }),
    'app/.vscode/mcp.json': json([1]),
    'home/.claude.json': json({ mcpServers: { __proto__: { command: 'x' } }, projects: null }),
  });
  symlinkSync('/etc/passwd', join(home, '.codex'));
  const found = await findServers(top, home);
  expect(found).toMatchObject([{ source: '.cursor/mcp.json', runs: 'nothing that starts it', tools: [] }]);
  expect(found[0]!.name).not.toContain('\u001b');
});

test('a proposal never calls what ends, sends or runs something harmless (G-5)', () => {
  const privileged = [
    'delete_repo',
    'get_secret',
    'list_and_delete',
    'sendMail',
    'run',
    'frobnicate',
    '',
    'createDeploy',
  ];
  expect(privileged.map((name) => proposeTier(name))).toEqual(privileged.map(() => 'privileged'));
  expect(['getIssue', 'list', 'search-code', 'read.file'].map((name) => proposeTier(name))).toEqual(
    Array.from({ length: 4 }, () => 'read-only'),
  );
  expect(proposeTier('createIssue')).toBe('reversible');
});
