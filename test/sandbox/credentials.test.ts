import { existsSync, mkdirSync, readFileSync, statSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

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

test('without a sandbox the same log-in is found at its place outside', async () => {
  const { shell } = await setup('none');
  expect((await shell('cat ~/.claude/.credentials.json')).outputTail).toBe(old);
});
