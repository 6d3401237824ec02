import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { makeMakeRepository } from '../repositories/index.ts';
import { cannotRun } from '../sandbox/small-world.ts';
import { node, packageFolder } from './built-package.ts';
import { type Crew, openCrew } from './crew.ts';

vi.setConfig({ testTimeout: 60_000 });

/** What the server has and no agent may see, by name or by value. */
const secrets = {
  ANTHROPIC_API_KEY: 'planted-anthropic',
  OPENAI_API_KEY: 'planted-openai',
  CODEX_API_KEY: 'planted-codex',
  GITHUB_TOKEN: 'planted-github',
  AWS_SECRET_ACCESS_KEY: 'planted-aws',
  DATABASE_URL: 'postgres://planted-url',
  SSH_AUTH_SOCK: '/planted-agent.sock',
  LD_LIBRARY_PATH: '/planted-library',
  GIT_SSH_COMMAND: 'planted-ssh',
  CLAUDECODE: 'planted-inside',
  CLAUDE_CODE_ENTRYPOINT: 'planted-entry',
  MY_OWN_SETTING: 'planted-setting',
};

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew({ ...secrets, HANDED_OVER: 'wanted' });
});
afterAll(() => crew?.dispose());

/** What every agent gets: its folders, its session, git's identity, the way through the wall, caches, and what was handed over. */
const always = [
  'PATH',
  'HOME',
  'LANG',
  'TMPDIR',
  'PWD',
  'OLDPWD',
  'SHLVL',
  'HANDED_OVER',
  'PORT',
  'CHANTIER_DATABASE_NAME',
  'CHANTIER_GENERATION',
  'CHANTIER_RUN',
  'CHANTIER_SESSION',
  'CHANTIER_SOCKET',
  'CHANTIER_TOKEN',
  'CHANTIER_WORK_FOLDER',
  'COMPOSE_PROJECT_NAME',
  'GIT_AUTHOR_EMAIL',
  'GIT_AUTHOR_NAME',
  'GIT_COMMITTER_EMAIL',
  'GIT_COMMITTER_NAME',
  'GIT_TERMINAL_PROMPT',
  'ALL_PROXY',
  'HTTPS_PROXY',
  'HTTP_PROXY',
  'NO_PROXY',
  'all_proxy',
  'https_proxy',
  'http_proxy',
  'no_proxy',
  'NODE_USE_ENV_PROXY',
  'CARGO_HOME',
  'GOCACHE',
  'GOMODCACHE',
  'PIP_CACHE_DIR',
  'PIP_DISABLE_PIP_VERSION_CHECK',
  'XDG_CACHE_HOME',
  'npm_config_cache',
  'npm_config_update_notifier',
];
const claudes = [
  'CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC',
  'CLAUDE_CONFIG_DIR',
  'DISABLE_AUTOUPDATER',
  'MCP_TOOL_TIMEOUT',
];
const commands = ['CHANTIER_MCP', 'CHANTIER_PROMPT'];

test.skipIf(cannotRun).each([
  ['acp', false, []],
  ['claude', false, claudes],
  ['codex', false, []],
  ['command', false, commands],
  ['command', true, [...commands, 'TERM']],
] as const)(
  `%s (at a terminal: %s) sees these names and no other of the server’s environment (S-27, S-74)${cannotRun}`,
  async (driver, tty, own) => {
    const codename = `env${driver}${tty ? 'tty' : ''}`;
    const agent = {
      codename,
      family: 'fake',
      roles: ['author'],
      driver,
      command: [node, join(packageFolder, 'test/agents/shows-environment.mjs')],
      envNames: ['HANDED_OVER'],
      ...(tty ? { tty } : {}),
    };
    const added = await crew.send('POST', '/api/agents', agent, { proof: true });
    expect(added.status, JSON.stringify(added.body)).toBeLessThan(300);
    const run = await crew.run(makeMakeRepository(join(crew.root, codename)), 'Show it', { agent: codename });
    const file = join(dirname(crew.workFolder(await crew.session(run))), 'home', 'environment.json');
    const seen = await crew.until('the environment', async () => existsSync(file) && readFileSync(file, 'utf8'));
    const environment = JSON.parse(seen) as Record<string, string>;
    expect(Object.keys(environment).toSorted()).toEqual([...always, ...own].toSorted());
    expect(environment.HANDED_OVER).toBe('wanted');
    expect(seen).not.toContain('planted-');
    await crew.calm();
  },
);
