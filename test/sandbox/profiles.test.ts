import { mkdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

import { describe, expect, test } from 'vitest';

import { cannotRun, makeSmallWorld } from './small-world.ts';

const lines = (text: string): string[] => text.trim().split('\n');

describe.skipIf(cannotRun)(`profiles${cannotRun}`, () => {
  test('a reviewer can read the work folder and not write it; its home it can (X-1)', async () => {
    const { clone, shell } = await makeSmallWorld({ kind: 'reviewer', workFolderAccess: 'read-only' });
    writeFileSync(join(clone, 'a.txt'), 'seen\n', { mode: 0o644 });
    const { outputTail } = await shell(
      'cat a.txt; echo x > b.txt; chmod 600 a.txt; rm -f a.txt; echo y > ~/c.txt && echo home',
    );
    expect(outputTail).toMatch(/^seen\n/);
    expect(outputTail.match(/Read-only file system/g)).toHaveLength(3);
    expect(outputTail).toMatch(/home\n$/);
  });

  test('never uid 0 inside, with an account of that user and its private home (X-4)', async () => {
    const { shell, home, sandbox } = await makeSmallWorld();
    const { outputTail } = await shell('id -u; id -un; getent passwd "$(id -u)" | cut -d: -f6; cd ~ && pwd');
    const uid = sandbox.owner?.uid ?? process.getuid!();
    expect(lines(outputTail)).toEqual([String(uid), 'agent', home, home]);
    expect(uid).not.toBe(0);
  });

  test('the environment inside is what the profile says; the arguments are not on the command line (X-3)', async () => {
    const { shell, profile } = await makeSmallWorld();
    const { outputTail } = await shell(`env -0 | tr '\\0' '\\n' | sort`);
    const names = lines(outputTail).map((line) => line.split('=')[0]!);
    const ours = [...Object.keys(profile.env), 'CHANTIER_RUN'];
    expect(names.filter((name) => !['PWD', 'OLDPWD', 'SHLVL', '_'].includes(name))).toEqual(ours.toSorted());
  });

  test('what the root holds is named: nothing of the machine beyond its system folders (X-3)', async () => {
    const { shell, base } = await makeSmallWorld();
    const { outputTail } = await shell('ls /');
    const allowed = [
      'bin',
      'dev',
      'etc',
      'lib',
      'lib32',
      'lib64',
      'libx32',
      'nix',
      'gnu',
      'opt',
      'proc',
      'run',
      'sbin',
      'tmp',
      'usr',
      'var',
    ];
    expect(lines(outputTail).filter((name) => !allowed.includes(name))).toEqual([]);
    const wayToWork = base.split('/')[2]!;
    expect((await shell(`ls /run /var /tmp | grep -vx '${wayToWork}' | grep .`)).outputTail).toBe(
      '/run:\n/tmp:\n/var:\nrun\ntmp\n',
    );
  });

  test('only one credential folder is there, and it can be written (X-3)', async () => {
    const { base, home, profile, sandbox, state } = await makeSmallWorld();
    const outside = join(base, 'log-in');
    mkdirSync(outside);
    writeFileSync(join(outside, 'token'), 'old');
    const { giveToOwner, runInSandbox } = await import('../../src/sandbox/index.ts');
    await giveToOwner(sandbox.owner, [outside]);
    const credentialFolder = { outside, inside: join(home, '.agent') };
    const command = ['/bin/sh', '-c', 'cat ~/.agent/token; echo new > ~/.agent/token'];
    const run = await runInSandbox(sandbox, { ...profile, credentialFolder }, command, {
      timeoutMs: 5_000,
      stateFolder: state,
    });
    expect(run).toMatchObject({ exitCode: 0, outputTail: 'old' });
    expect(readFileSync(join(outside, 'token'), 'utf8')).toBe('new\n');
  });

  test('a link planted where a folder is mounted is refused, not followed (X-3, sandbox attack 3)', async () => {
    const { base, clone, shell } = await makeSmallWorld();
    renameSync(clone, join(base, 'moved'));
    symlinkSync('/etc', clone);
    await expect(shell('true')).rejects.toThrow(/not a plain folder/);
    rmSync(clone);
    await expect(shell('true')).rejects.toThrow(/does not exist/);
  });

  test('a read-only folder inside the work folder that leads out through a link is refused (X-8)', async () => {
    const { base, clone, home, sandbox, profile, state } = await makeSmallWorld();
    mkdirSync(join(base, 'secret/hooks'), { recursive: true });
    symlinkSync(join(base, 'secret'), join(clone, '.git'));
    const changed = { ...profile, readOnly: [join(clone, '.git/hooks')] };
    await expect(sandbox.wrap(changed, ['/bin/true'], state)).rejects.toThrow(/leads out of/);
    expect(home).toBeDefined();
  });

  test('hooks can be bound read-only into a work folder that is writable (X-8)', async () => {
    const world = await makeSmallWorld();
    mkdirSync(join(world.clone, '.git/hooks'), { recursive: true });
    const { giveToOwner, runInSandbox } = await import('../../src/sandbox/index.ts');
    await giveToOwner(world.sandbox.owner, [world.clone]);
    const profile = { ...world.profile, readOnly: [join(world.clone, '.git/hooks')] };
    const command = ['/bin/sh', '-c', 'echo x > .git/config && ! echo x > .git/hooks/pre-commit'];
    const run = await runInSandbox(world.sandbox, profile, command, { timeoutMs: 5_000, stateFolder: world.state });
    expect(run.exitCode).toBe(0);
  });

  test('nested allows user namespaces; mounts are denied even then (X-11, sandbox attacks 4, 5)', async () => {
    const { shell } = await makeSmallWorld({ nested: true });
    const { outputTail } = await shell(
      'unshare --user --map-root-user --pid --net --fork id -u; unshare --user --map-root-user --mount sh -c "mount -t tmpfs x /tmp && echo mounted"',
    );
    expect(outputTail).toMatch(/^0\n/);
    expect(outputTail).not.toMatch(/mounted/);
    const plain = await makeSmallWorld();
    expect((await plain.shell('unshare --user true')).exitCode).not.toBe(0);
  });

  test('what programs need works: PTY, /dev/shm, own localhost, inotify', async () => {
    const { run } = await makeSmallWorld({ readOnly: [dirname(process.execPath)] });
    const program = `
      const net = require('node:net'), fs = require('node:fs'), { execFileSync, spawnSync } = require('node:child_process');
      fs.writeFileSync('/dev/shm/x', 'x');
      const pty = spawnSync('script', ['-qec', 'tty', '/dev/null'], { input: '' });
      console.log(String(pty.stdout).trim());
      const server = net.createServer((s) => s.end('hi')).listen(0, '127.0.0.1', () => {
        net.connect(server.address().port, '127.0.0.1').on('data', (d) => {
          console.log(String(d));
          server.close();
          const watcher = fs.watch('.', (_, name) => { console.log(name); watcher.close(); });
          fs.writeFileSync('watched', '');
        });
      });`;
    const { outputTail, exitCode } = await run([process.execPath, '-e', program]);
    expect({ exitCode, lines: lines(outputTail.replaceAll('\r', '')) }).toEqual({
      exitCode: 0,
      lines: ['/dev/pts/0', 'hi', 'watched'],
    });
  });
});
