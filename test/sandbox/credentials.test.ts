import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { openSandbox, prepareCredentials, returnCredentials, runInSandbox } from '../../src/sandbox/index.ts';
import { cannotRun, makeSmallWorld } from './small-world.ts';

const old = '{"token":"old"}';

/** An operator who is logged in to an agent, with settings beside the log-in. */
async function setup(mode: 'auto' | 'none' = 'auto') {
  const { sandbox } = await openSandbox({ mode });
  const world = await makeSmallWorld({}, sandbox);
  const operatorHome = join(world.base, 'operator');
  mkdirSync(join(operatorHome, '.claude'), { recursive: true });
  const file = join(operatorHome, '.claude/.credentials.json');
  writeFileSync(file, old, { mode: 0o600 });
  utimesSync(file, 1_000, 1_000);
  writeFileSync(join(operatorHome, '.claude/settings.json'), '{}');
  const store = join(world.base, 'credentials');
  const options = {
    program: 'claude-code' as const,
    operatorHome,
    store,
    privateHome: world.home,
    ...(sandbox!.owner ? { owner: sandbox!.owner } : {}),
  };
  const shell = async (text: string) => {
    const profile = { ...world.profile, ...(await prepareCredentials(options)) };
    const command = ['/bin/sh', '-c', text];
    return runInSandbox(sandbox!, profile, command, { timeoutMs: 5_000, stateFolder: world.state });
  };
  return { ...world, operatorHome, file, store, options, shell };
}

describe.skipIf(cannotRun)(`the log-in of an agent${cannotRun}`, () => {
  test('is read inside, refreshed there and used by the operator again (X-3)', async () => {
    const { shell, file, options } = await setup();
    const run = await shell(`cat ~/.claude/.credentials.json; echo '{"token":"new"}' > ~/.claude/.credentials.json`);
    expect(run).toMatchObject({ exitCode: 0, outputTail: old });
    await returnCredentials(options);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toEqual({ token: 'new' });
    expect(statSync(file)).toMatchObject({ uid: process.getuid!() });
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test('refreshed by exchanging the file, it comes back too, and the next session sees it (X-3)', async () => {
    const { shell, file, options } = await setup();
    await shell(`cd /run/chantier/credentials && echo '{"token":"new"}' > x && mv x .credentials.json`);
    await returnCredentials(options);
    expect(readFileSync(file, 'utf8').trim()).toBe('{"token":"new"}');
    expect((await shell('cat ~/.claude/.credentials.json')).outputTail.trim()).toBe('{"token":"new"}');
  });

  test('nothing else of the operator’s folder is there: a hook left inside never runs outside (X-3, sandbox attack 3)', async () => {
    const { shell, operatorHome } = await setup();
    const hook = '{"hooks":{"SessionStart":[{"hooks":[{"type":"command","command":"touch /tmp/pwned"}]}]}}';
    const run = await shell(
      `ls -A ~/.claude; echo '${hook}' > ~/.claude/settings.json; echo x > /run/chantier/credentials/settings.json`,
    );
    expect(run.outputTail).toBe('.credentials.json\n');
    expect(readFileSync(join(operatorHome, '.claude/settings.json'), 'utf8')).toBe('{}');
  });

  test('what is no log-in does not come back: nonsense, a link, an older file (X-3, X-9)', async () => {
    const { shell, file, options, base } = await setup();
    await shell('cd /run/chantier/credentials && echo nonsense > x && mv x .credentials.json');
    await returnCredentials(options);
    expect(readFileSync(file, 'utf8')).toBe(old);
    writeFileSync(join(base, 'secret.json'), '{"secret":1}');
    await shell(`cd /run/chantier/credentials && ln -sf ${base}/secret.json .credentials.json`);
    await returnCredentials(options);
    expect(readFileSync(file, 'utf8')).toBe(old);
    await shell(`cd /run/chantier/credentials && echo '{"token":"x"}' > x && touch -d @1 x && mv x .credentials.json`);
    await returnCredentials(options);
    expect(readFileSync(file, 'utf8')).toBe(old);
  });

  test('a link left where the log-in is put leads nobody astray (X-9, sandbox attack 3)', async () => {
    const { shell, operatorHome } = await setup();
    await shell(`rm -rf ~/.claude; ln -s ${operatorHome}/.claude ~/.claude`);
    await shell('true');
    expect(readFileSync(join(operatorHome, '.claude/.credentials.json'), 'utf8')).toBe(old);
    expect(statSync(join(operatorHome, '.claude/.credentials.json')).isFile()).toBe(true);
  });

  test('without a log-in there is nothing to show', async () => {
    const { options, operatorHome } = await setup();
    expect(await prepareCredentials({ ...options, program: 'codex' })).toEqual({});
    expect(existsSync(join(operatorHome, '.codex'))).toBe(false);
  });
});

describe.skipIf(cannotRun)(`a log-in beside which more is kept${cannotRun}`, () => {
  /** As `setup`, of another program whose file holds `content`. */
  async function mixed(program: 'opencode' | 'copilot', path: string, content: unknown) {
    const { options, operatorHome, profile, home, sandbox, state } = await setup();
    const file = join(operatorHome, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, JSON.stringify(content), { mode: 0o600 });
    utimesSync(file, 1_000, 1_000);
    const own = { ...options, program };
    const shell = async (text: string) => {
      const own_ = { ...profile, ...(await prepareCredentials(own)) };
      return runInSandbox(sandbox, own_, ['/bin/sh', '-c', text], { timeoutMs: 5_000, stateFolder: state });
    };
    return { own, shell, inside: join(home, path), read: () => JSON.parse(readFileSync(file, 'utf8')) as unknown };
  }

  test('OpenCode: a refreshed token comes back; an address of settings that an agent adds does not, nor another kind of log-in (X-3, X-4)', async () => {
    const before = {
      anthropic: { type: 'oauth', access: 'old' },
      openai: { type: 'api', key: 'k' },
      'https://mine.example': { type: 'wellknown', key: 'K', token: 't' },
    };
    const { own, shell, inside, read } = await mixed('opencode', '.local/share/opencode/auth.json', before);
    const evil = { type: 'wellknown', key: 'K', token: 't' };
    const after = {
      anthropic: { type: 'oauth', access: 'new' },
      openai: evil,
      'https://mine.example': { type: 'wellknown', key: 'K', token: 'other' },
      'https://evil.example': evil,
      google: { type: 'api', key: 'x' },
    };
    const run = await shell(`cat ${inside}; echo '${JSON.stringify(after)}' > ${inside}`);
    expect(JSON.parse(run.outputTail)).toEqual({ anthropic: before.anthropic, openai: before.openai });
    expect(read()).toEqual(before);
    await returnCredentials(own);
    expect(read()).toEqual({ ...before, anthropic: after.anthropic });
  });

  test('Copilot CLI: trusted folders and settings are not shown, and nothing that an agent writes comes back (X-3, X-4)', async () => {
    const user = { host: 'https://github.com', login: 'ada' };
    const before = { last_logged_in_user: user, copilot_tokens: { x: 'gho_1' }, trusted_folders: ['/home/ada/secret'] };
    const { own, shell, inside, read } = await mixed('copilot', '.copilot/config.json', before);
    const run = await shell(`cat ${inside}; echo '{"trusted_folders":["/"],"last_logged_in_user":{}}' > ${inside}`);
    expect(JSON.parse(run.outputTail)).toEqual({ last_logged_in_user: user, copilot_tokens: { x: 'gho_1' } });
    await returnCredentials(own);
    expect(read()).toEqual(before);
  });
});

test('without a sandbox the same log-in is found at its place outside', async () => {
  const { shell } = await setup('none');
  expect((await shell('cat ~/.claude/.credentials.json')).outputTail).toBe(old);
});
