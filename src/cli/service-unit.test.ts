import { execFile, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect, it, onTestFinished } from 'vitest';

import { pathsOf } from '../config/index.ts';
import { notifyService } from './notify-service.ts';
import { findNotify, installService, uninstallService, unitText } from './service-unit.ts';

function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-unit-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  const calls = join(folder, 'calls');
  for (const name of ['systemctl', 'loginctl']) {
    writeFileSync(
      join(bin, name),
      `#!/bin/sh\necho "${name} $*" >>"${calls}"\n[ ${name} = loginctl ] && echo yes\nexit 0\n`,
    );
    chmodSync(join(bin, name), 0o755);
  }
  const env = { HOME: folder, PATH: `${bin}:/usr/bin:/bin` };
  const paths = pathsOf(join(folder, '.chantier'));
  const unit = join(folder, '.config/systemd/user/chantier.service');
  const called = () => (existsSync(calls) ? readFileSync(calls, 'utf8').trim().split('\n') : []);
  return { folder, env, paths, unit, called };
}

it('installs a user unit of which a restart leaves the agents alone, and takes it away again (S-71, sessions case 64)', async () => {
  const { env, paths, unit, called } = setup();
  const installed = await installService(paths, env);
  expect(readFileSync(unit, 'utf8')).toMatch(/\nKillMode=process\n/);
  expect(installed.json).toMatchObject({ unit: 'chantier.service', enabled: true, lingers: true });
  expect(called().slice(0, 2)).toEqual(['systemctl --user daemon-reload', 'systemctl --user enable chantier.service']);
  await installService(paths, env);
  expect((await uninstallService(paths, env)).json).toEqual({ removed: unit });
  expect(existsSync(unit)).toBe(false);
  expect((await uninstallService(paths, env)).json).toEqual({ removed: null });
});

it('overwrites and removes no unit that somebody else wrote', async () => {
  const { env, paths, unit, folder } = setup();
  mkdirSync(join(folder, '.config/systemd/user'), { recursive: true });
  writeFileSync(unit, '[Service]\nExecStart=/bin/true\n');
  await expect(installService(paths, env)).rejects.toThrow('was not written by this command');
  await expect(uninstallService(paths, env)).rejects.toThrow('was not written by this command');
  expect(readFileSync(unit, 'utf8')).toContain('/bin/true');
});

it('without a systemd that answers it says what to run', async () => {
  const { env, paths } = setup();
  const installed = await installService(paths, { ...env, PATH: '/nowhere' });
  expect(installed.text).toContain('systemd does not answer here');
  expect((installed.json as { next: string[] }).next).toContain('systemctl --user daemon-reload');
});

const analyze = '/usr/bin/systemd-analyze';
it.skipIf(!existsSync(analyze))(
  `the unit is one that systemd reads without a complaint, whatever stands in the paths${existsSync(analyze) ? '' : ' (did not run: no systemd-analyze)'}`,
  async () => {
    const { folder } = setup();
    const odd = join(folder, 'a "b" $c %d \\e');
    mkdirSync(odd);
    writeFileSync(join(odd, 'serve'), '#!/bin/sh\n');
    chmodSync(join(odd, 'serve'), 0o755);
    const text = unitText({ command: [join(odd, 'serve'), 'up'], home: odd, path: '/usr/bin', notifies: true });
    const unit = join(folder, 'chantier.service');
    writeFileSync(unit, text);
    const { stdout, stderr } = await promisify(execFile)(analyze, ['--user', '--man=no', 'verify', unit], {
      env: { XDG_RUNTIME_DIR: folder, HOME: folder, PATH: '/usr/bin:/bin' },
    }).catch((error: { stdout: string; stderr: string }) => error);
    expect(`${stdout}${stderr}`.split('\n').filter((line) => line.includes('chantier.service'))).toEqual([]);
  },
);

const cannotListen = !existsSync('/usr/bin/socat') || findNotify() === undefined;
it.skipIf(cannotListen)(
  `a stuck server is not left stuck: it tells systemd that it is well only while it is (sessions case 11)${cannotListen ? ' (did not run: socat or systemd-notify is missing)' : ''}`,
  async () => {
    const { folder } = setup();
    const socket = join(folder, 'notify');
    const listener = spawn('/usr/bin/socat', ['-u', `UNIX-RECV:${socket}`, '-'], {
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    onTestFinished(() => void listener.kill('SIGKILL'));
    let heard = '';
    listener.stdout.on('data', (chunk: Buffer) => (heard += chunk.toString()));
    const until = async (isTrue: () => boolean): Promise<void> => {
      while (!isTrue()) await new Promise((later) => setTimeout(later, 10));
    };
    await until(() => existsSync(socket));
    const asked = { isWell: true, count: 0 };
    const stop = notifyService({ NOTIFY_SOCKET: socket, WATCHDOG_USEC: '150000' }, async () => {
      asked.count += 1;
      return asked.isWell;
    });
    onTestFinished(stop);
    const beats = () => heard.split('WATCHDOG=1').length - 1;
    await until(() => heard.includes('READY=1') && beats() >= 2);
    asked.isWell = false;
    const from = asked.count;
    await until(() => asked.count >= from + 8);
    const last = beats();
    await until(() => asked.count >= from + 16);
    expect(beats()).toBe(last);
  },
);
