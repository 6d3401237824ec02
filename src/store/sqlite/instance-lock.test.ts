import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { acquireInstanceLock, type InstanceLock, type LockPaths, readRunningServer } from './instance-lock.ts';

function paths(): LockPaths {
  const home = mkdtempSync(join(tmpdir(), 'chantier-lock-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  return { home, lock: join(home, 'lock.db'), server: join(home, 'server.json') };
}

function hold(lock: InstanceLock): Extract<InstanceLock, { held: true }> {
  if (!lock.held) throw new Error('the lock is not held');
  onTestFinished(() => lock.release());
  return lock;
}

const module = new URL('./instance-lock.ts', import.meta.url).href;

/** Another process that takes the lock, says so, and keeps it until it is killed. */
async function startHolder(of: LockPaths): Promise<{ pid: number; kill(): Promise<void> }> {
  const program = `
    import { acquireInstanceLock } from ${JSON.stringify(module)};
    const lock = acquireInstanceLock(${JSON.stringify(of)});
    if (lock.held) lock.announce('http://127.0.0.1:1');
    console.log(lock.held);
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [answer] = (await once(child.stdout, 'data')) as [Buffer];
  expect(answer.toString().trim()).toBe('true');
  const ended = once(child, 'exit');
  return {
    pid: child.pid as number,
    async kill() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

describe('acquireInstanceLock', () => {
  it('gives a home to one process; the other learns who and where it is (S-60)', async () => {
    const home = paths();
    const holder = await startHolder(home);
    onTestFinished(() => holder.kill());
    expect(acquireInstanceLock(home)).toMatchObject({
      held: false,
      winner: { pid: holder.pid, address: 'http://127.0.0.1:1' },
    });
  });

  it('is free again the moment the holder is killed', async () => {
    const home = paths();
    const holder = await startHolder(home);
    await holder.kill();
    hold(acquireInstanceLock(home));
    expect(readRunningServer(home)).toMatchObject({ pid: process.pid, address: '' });
  });

  it('refuses a second holder in the same process as well', () => {
    const home = paths();
    const first = hold(acquireInstanceLock(home));
    first.announce('http://127.0.0.1:4747');
    expect(acquireInstanceLock(home)).toMatchObject({ held: false, winner: { pid: process.pid } });
    first.release();
    first.release();
    expect(existsSync(home.server)).toBe(false);
    hold(acquireInstanceLock(home));
  });

  it('announces by rename: a reader never sees half a file', () => {
    const home = paths();
    const lock = hold(acquireInstanceLock(home));
    lock.announce('http://127.0.0.1:4747');
    expect(JSON.parse(readFileSync(home.server, 'utf8'))).toMatchObject({ address: 'http://127.0.0.1:4747' });
    expect(existsSync(`${home.server}.${process.pid}`)).toBe(false);
  });
});
