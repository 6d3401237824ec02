import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { agentNeeds, agentProgramOf } from '../agents.ts';
import { carryIn } from './carry-in.ts';
import { filterNpmrc } from './npmrc.ts';
import { findToolchains } from './toolchains.ts';

function setup() {
  const home = mkdtempSync(join(tmpdir(), 'home-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  for (const folder of ['.cargo/bin', '.rustup', '.nvm/versions/node/v24/bin', '.ssh', '.docker', '.pyenv/shims'])
    mkdirSync(join(home, folder), { recursive: true });
  for (const secret of ['.cargo/credentials.toml', '.ssh/id_ed25519', '.netrc'])
    writeFileSync(join(home, secret), 'secret');
  return home;
}

test('shows toolchains of the home, never what holds log-ins beside them (X-2)', () => {
  const home = setup();
  const path = [`${home}/.cargo/bin`, `${home}/.nvm/versions/node/v24/bin`, `${home}/bin`, '/usr/bin', '.'].join(':');
  expect(findToolchains(home, path, '/usr/bin/node')).toEqual({
    readOnly: ['.cargo/bin', '.nvm/versions', '.pyenv', '.rustup'].map((name) => join(home, name)),
    path: [`${home}/.cargo/bin`, `${home}/.nvm/versions/node/v24/bin`],
    env: { PYENV_ROOT: `${home}/.pyenv`, RUSTUP_HOME: `${home}/.rustup` },
  });
});

test('shows the Node that runs the server, for the agents’ bridge', () => {
  const home = setup();
  expect(findToolchains(home, '', '/srv/node/bin/node').readOnly).toContain('/srv/node/bin');
});

test('carries registries and authorities of an npmrc, and nothing that says who asks', () => {
  const carried = filterNpmrc(
    [
      'registry=https://packages.example.com/npm/',
      '  @team:registry = https://team.example.com/  ',
      'cafile=/etc/ssl/own.pem',
      'strict-ssl=true',
      '//packages.example.com/npm/:_authToken=npm_secret',
      '_auth=c2VjcmV0',
      '_password=secret',
      'username=me',
      'email=me@example.com',
      'keyfile=/home/me/key.pem',
      'https-proxy=http://me:secret@proxy:3128',
      '@other:registry=https://me:secret@other.example.com/',
      '@third:registry=https://third.example.com/${NPM_TOKEN}',
      '; registry=https://comment.example.com/',
    ].join('\n'),
  );
  expect(carried).toBe(
    'registry=https://packages.example.com/npm/\n@team:registry = https://team.example.com/\ncafile=/etc/ssl/own.pem\nstrict-ssl=true\n',
  );
});

test('carries authorities that came by environment, with their files, and shows the filtered npmrc', () => {
  const home = setup();
  const file = join(home, 'own.pem');
  writeFileSync(file, 'x');
  writeFileSync(join(home, '.npmrc'), 'registry=https://packages.example.com/\n_auth=c2VjcmV0\n');
  const npmrcFile = join(home, 'work/npmrc');
  const env = { PATH: '', NODE_EXTRA_CA_CERTS: file, SSL_CERT_FILE: '/missing.pem', GITHUB_TOKEN: 'x' };
  const carried = carryIn({ operatorHome: home, env, npmrcFile });
  expect(carried.env).toMatchObject({ NODE_EXTRA_CA_CERTS: file, npm_config_userconfig: npmrcFile });
  expect(Object.keys(carried.env)).not.toContain('SSL_CERT_FILE');
  expect(Object.keys(carried.env)).not.toContain('GITHUB_TOKEN');
  expect(carried.readOnly).toEqual(expect.arrayContaining([file, npmrcFile]));
  expect(readFileSync(npmrcFile, 'utf8')).toBe('registry=https://packages.example.com/\n');
  expect(statSync(npmrcFile).mode & 0o777).toBe(0o644);
});

test('without an npmrc nothing is written', () => {
  const home = setup();
  const carried = carryIn({ operatorHome: home, env: { PATH: '' }, npmrcFile: join(home, 'npmrc') });
  expect(carried.env).not.toHaveProperty('npm_config_userconfig');
  expect(existsSync(join(home, 'npmrc'))).toBe(false);
});

test('knows the agents by their command, with their own sandbox switched off (X-11)', () => {
  expect(['/usr/bin/claude', 'codex-acp', '/x/gemini.js', 'opencode', 'copilot', 'make'].map(agentProgramOf)).toEqual([
    'claude-code',
    'codex',
    'gemini-cli',
    'opencode',
    'copilot',
    undefined,
  ]);
  expect(agentNeeds.codex.ownSandboxOff).toMatchObject({
    arguments: ['--dangerously-bypass-approvals-and-sandbox'],
    acpMode: 'agent-full-access',
  });
  for (const needs of Object.values(agentNeeds)) expect(needs.rules.length).toBeGreaterThan(0);
});
