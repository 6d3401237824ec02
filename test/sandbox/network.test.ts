import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';

import { describe, expect, onTestFinished, test, vi } from 'vitest';

import { killTree, startWall, startWrapped, type WallRule } from '../../src/sandbox/index.ts';
import { forwarderPlan } from '../../src/sandbox/wall/forwarder.ts';
import { cannotRun, makeSmallWorld } from './small-world.ts';

/** A session with a wall and a web server outside that only a rule opens. */
async function setup() {
  const world = await makeSmallWorld({ readOnly: [dirname(process.execPath)] });
  const web = createServer((_incoming, outgoing) => outgoing.end('from outside'));
  await once(web.listen(0, '127.0.0.1'), 'listening');
  const wall = await startWall({ folder: join(world.base, 'wall') });
  onTestFinished(async () => {
    web.close();
    await wall.stop();
  });
  const port = (web.address() as AddressInfo).port;
  const socketFolder = join(world.base, 'w1');
  const rules: WallRule[] = [{ host: 'web.test', ports: [80, 443], address: `127.0.0.1:${port}` }];
  const owner = world.sandbox.owner ? { owner: world.sandbox.owner } : {};
  const admit = () => wall.admit({ sessionId: 's1', socketFolder, rules, ...owner });
  await admit();
  const profile = { ...world.profile, network: { kind: 'wall' as const, socketFolder } };
  return { ...world, profile, wall, port, socketFolder };
}

/** Fetches each address and prints a line: the body, the status, or the error's code. */
const fetchAll = (...urls: string[]): string[] => [
  process.execPath,
  '-e',
  `(async () => { for (const url of ${JSON.stringify(urls)}) console.log(await fetch(url, { signal: AbortSignal.timeout(5000) })
    .then(async (r) => r.ok ? r.text() : 'status ' + r.status, (e) => 'error ' + (e.cause?.code || e.cause?.message))) })()`,
];

describe.skipIf(cannotRun)(`the way out${cannotRun}`, () => {
  test('reaches what the rules name, through the forwarder, and nothing else (X-7, sandbox attacks 10, 11)', async () => {
    const { sandbox, profile, state, port, wall } = await setup();
    const { runInSandbox } = await import('../../src/sandbox/index.ts');
    const command = fetchAll(
      'http://web.test/',
      'http://evil.test/',
      `http://127.0.0.1:${port}/`,
      'http://web.test:81/',
      'http://[::1]/',
    );
    const run = await runInSandbox(sandbox, profile, command, { timeoutMs: 10_000, stateFolder: state });
    expect(run.outputTail.trim().split('\n')).toEqual([
      'from outside',
      // Node asks for a tunnel even for plain HTTP; when it is refused there is no answer to show.
      expect.stringContaining('error'),
      'error ECONNREFUSED',
      expect.stringContaining('error'),
      expect.stringContaining('error'),
    ]);
    await vi.waitFor(() =>
      expect(wall.denials('s1').map(({ host }) => host)).toEqual(expect.arrayContaining(['evil.test', 'web.test'])),
    );
  });

  test('a session keeps its network when the wall is killed and started again (X-7)', async () => {
    const { sandbox, profile, state, wall, base } = await setup();
    const asker = `
      const readline = require('node:readline');
      readline.createInterface({ input: process.stdin }).on('line', async () =>
        console.log(await fetch('http://web.test/').then((r) => r.text(), (e) => 'error')));
      console.log('ready');`;
    const child = startWrapped(await sandbox.wrap(profile, [process.execPath, '-e', asker], state));
    onTestFinished(() => killTree(child.pid!));
    const answer = async () => String((await once(child.stdout!, 'data'))[0]).trim();
    expect(await answer()).toBe('ready');
    const ask = () => (child.stdin!.write('go\n'), answer());
    expect(await ask()).toBe('from outside');
    process.kill(wall.pid, 'SIGKILL');
    await vi.waitFor(() => expect(wall.isAlive()).toBe(false));
    const again = await startWall({ folder: join(base, 'wall') });
    onTestFinished(() => again.stop());
    expect(await ask()).toBe('from outside');
  });

  test('the way out is the wall alone: without a rule for it there is none, and the socket cannot be replaced (X-7, sandbox attack 12)', async () => {
    const { sandbox, profile, state } = await setup();
    const { runInSandbox } = await import('../../src/sandbox/index.ts');
    const command = [
      '/bin/sh',
      '-c',
      'rm -f /run/chantier/wall/sock; touch /run/chantier/wall/x; test -S /run/chantier/wall/sock && echo there; grep -c : /proc/net/dev',
    ];
    const run = await runInSandbox(sandbox, profile, command, { timeoutMs: 10_000, stateFolder: state });
    expect(run.outputTail).toMatch(/Read-only file system[^]*there\n1\n$/);
  });

  test('where socat is missing, the forwarder of our own carries the same (X-7)', async () => {
    const { sandbox, profile, state } = await setup();
    const { runInSandbox } = await import('../../src/sandbox/index.ts');
    const own = forwarderPlan(profile, '');
    expect(own.start).not.toMatch(/socat/);
    // The profile has no network of its own here: the forwarder is started by the command, as the launcher would.
    const socketFolders = [{ outside: profile.network.socketFolder, inside: '/run/chantier/wall' }];
    const bare = { ...profile, network: { kind: 'none' as const }, socketFolders, env: { ...profile.env, ...own.env } };
    const command = [
      '/bin/sh',
      '-c',
      `${own.start}\nexec "$@"`,
      'sh',
      ...fetchAll('http://web.test/', 'http://evil.test/'),
    ];
    const run = await runInSandbox(sandbox, bare, command, { timeoutMs: 10_000, stateFolder: state });
    expect(run.outputTail).toMatch(/^from outside\nerror .*\n$/);
  });
});
