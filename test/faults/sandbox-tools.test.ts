import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';

import { describe, expect, onTestFinished, test } from 'vitest';

import { giveToOwner, runInSandbox, startWall } from '../../src/sandbox/index.ts';
import { cannotRun, makeSmallWorld } from '../sandbox/small-world.ts';

const npm = '/usr/bin/npm';
const noNpm = existsSync(npm) ? '' : ' (not run: /usr/bin/npm is missing)';
const chromium = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((path) =>
  existsSync(path),
);
const noChromium = chromium ? '' : ' (not run: Chromium is missing)';

/** A registry with one package, reachable as `registry.test` through the wall only; it counts what is fetched. */
async function setupRegistry() {
  const world = await makeSmallWorld({ kind: 'setup' });
  const { base, sandbox } = world;
  const source = join(base, 'tiny-package');
  mkdirSync(source);
  writeFileSync(join(source, 'package.json'), '{"name":"tiny-package","version":"1.0.0","main":"index.js"}');
  writeFileSync(join(source, 'index.js'), 'module.exports = 42;');
  execFileSync('tar', ['-czf', join(base, 'tiny.tgz'), '--transform', 's,^tiny-package,package,', 'tiny-package'], {
    cwd: base,
  });
  const tarball = readFileSync(join(base, 'tiny.tgz'));
  const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
  const fetched: string[] = [];
  const registry = createServer((incoming, outgoing) => {
    fetched.push(incoming.url ?? '');
    outgoing.end(tarball);
  });
  await once(registry.listen(0, '127.0.0.1'), 'listening');
  const wall = await startWall({ folder: join(base, 'wall') });
  onTestFinished(async () => {
    registry.closeAllConnections();
    registry.close();
    await wall.stop();
  });
  const address = `127.0.0.1:${(registry.address() as AddressInfo).port}`;
  const socketFolder = join(base, 'w1');
  const owner = sandbox.owner ? { owner: sandbox.owner } : {};
  await wall.admit({
    sessionId: 's1',
    socketFolder,
    rules: [{ host: 'registry.test', ports: [80], address }],
    ...owner,
  });

  const resolved = 'http://registry.test/tiny-package/-/tiny-package-1.0.0.tgz';
  const lock = {
    name: 'work',
    lockfileVersion: 3,
    requires: true,
    packages: {
      '': { name: 'work', dependencies: { 'tiny-package': '1.0.0' } },
      'node_modules/tiny-package': { version: '1.0.0', resolved, integrity },
    },
  };
  /** `npm ci` in a fresh work folder with this private cache. */
  const install = async (name: string, cache: string) => {
    const clone = join(base, name);
    mkdirSync(clone);
    writeFileSync(join(clone, 'package.json'), '{"name":"work","dependencies":{"tiny-package":"1.0.0"}}');
    writeFileSync(join(clone, 'package-lock.json'), JSON.stringify(lock));
    mkdirSync(cache, { recursive: true });
    await giveToOwner(sandbox.owner, [clone, cache]);
    const env = { ...world.profile.env, npm_config_registry: 'http://registry.test/', npm_config_cache: cache };
    const profile = {
      ...world.profile,
      workFolder: clone,
      cwd: clone,
      writable: [cache],
      env: { ...env, npm_config_audit: 'false', npm_config_update_notifier: 'false' },
      network: { kind: 'wall' as const, socketFolder },
    };
    const run = await runInSandbox(sandbox, profile, [npm, 'ci'], { timeoutMs: 60_000, stateFolder: world.state });
    return { run, clone };
  };
  return { ...world, install, fetched, resolved };
}

describe.skipIf(cannotRun || noNpm)(`npm behind the wall${cannotRun}${noNpm}`, () => {
  test('npm ci with a cold and a warm private cache: the second fetches nothing (X-7, X-12)', async () => {
    const { base, install, fetched } = await setupRegistry();
    const cold = join(base, 'cold-cache');
    const first = await install('one', cold);
    expect(first.run.outputTail).toMatch(/added 1 package/);
    expect(readFileSync(join(first.clone, 'node_modules/tiny-package/index.js'), 'utf8')).toMatch(/42/);
    expect(fetched).toHaveLength(1);

    const warm = join(base, 'warm-cache');
    cpSync(cold, warm, { recursive: true });
    const second = await install('two', warm);
    expect(second.run.outputTail).toMatch(/added 1 package/);
    expect(fetched).toHaveLength(1);
  }, 120_000);
});

describe.skipIf(cannotRun || noChromium)(`a browser inside${cannotRun}${noChromium}`, () => {
  const page = "data:text/html,<script>document.write('answer ' + 6 * 7)</script>";
  const show = (...flags: string[]) => [chromium!, '--headless=new', '--disable-gpu', ...flags, '--dump-dom', page];

  test('runs with its own sandbox where the profile is nested, with --no-sandbox elsewhere (X-11)', async () => {
    const nested = await makeSmallWorld({ nested: true });
    expect((await nested.run(show(), { timeoutMs: 60_000 })).outputTail).toMatch(/answer 42/);
    const plain = await makeSmallWorld();
    expect((await plain.run(show(), { timeoutMs: 60_000 })).outputTail).toMatch(/No usable sandbox/);
    expect((await plain.run(show('--no-sandbox'), { timeoutMs: 60_000 })).outputTail).toMatch(/answer 42/);
  }, 120_000);
});
