import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, onTestFinished, test } from 'vitest';

import type { Protection } from '../../src/sandbox/bubblewrap/build-arguments.ts';
import { createBubblewrapSandbox } from '../../src/sandbox/bubblewrap/driver.ts';
import { findSystemProgram } from '../../src/sandbox/bubblewrap/find-programs.ts';
import { chooseOwner } from '../../src/sandbox/bubblewrap/owner.ts';
import { openSandbox, probeSandbox } from '../../src/sandbox/index.ts';
import { diagnose } from '../../src/sandbox/probe/diagnose.ts';
import { cannotRun } from './small-world.ts';

const isRoot = process.getuid?.() === 0;

function weakSandbox(...without: Protection[]) {
  return createBubblewrapSandbox({
    bwrap: findSystemProgram('bwrap')!,
    setpriv: findSystemProgram('setpriv')!,
    cgroup: { kind: 'none', env: {} },
    without: new Set(without),
    ...(isRoot ? { owner: chooseOwner() } : {}),
  });
}

describe.skipIf(cannotRun)(`the probe${cannotRun}`, () => {
  test('sees all twelve effects of the real profile, and hidden paths of the instance (X-14)', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'instance-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    writeFileSync(join(folder, 'operator.token'), 'x');
    const { sandbox, report } = await openSandbox({ mode: 'auto', hidden: [folder] });
    expect(sandbox).toMatchObject({ driver: 'bubblewrap', holds: true });
    expect(report.effects).toHaveLength(12);
    expect(report.effects.every(({ seen }) => seen)).toBe(true);
    expect(report).toMatchObject({ driver: 'bubblewrap', holds: true, version: expect.stringMatching(/^\d+\.\d+/) });
    expect(report.cause).toBeUndefined();
  });

  test.each<[string, Protection[], string[]]>([
    ['the allow-list root', ['allow-list-root'], ['hidden']],
    ['read-only binds', ['read-only-binds'], ['read-only']],
    ['the pid namespace', ['pid-namespace'], ['outside-process-unreachable', 'own-pid-namespace']],
    ['dropped capabilities', ['capabilities', 'not-root'], ['no-capabilities', 'not-root']],
    ['the filter', ['seccomp'], ['seccomp-on']],
    ['read-only settings', ['proc-sys-read-only'], ['proc-sys-read-only']],
    ['the limit on namespaces', ['seccomp', 'user-namespace-limit'], ['no-new-user-namespace']],
    ['the network namespace', ['network-namespace'], ['no-network']],
  ])('without %s it does not hold, and says which effect is missing (X-14)', async (_name, without, missing) => {
    const report = await probeSandbox(weakSandbox(...without));
    expect(report.holds).toBe(false);
    expect(report.effects.filter(({ seen }) => !seen).map(({ effect }) => effect)).toEqual(
      expect.arrayContaining(missing),
    );
    expect(report.cause).toContain(missing[0]);
  });

  test('a program that cannot start is reported, not thrown (X-14)', async () => {
    const report = await probeSandbox(
      createBubblewrapSandbox({ bwrap: '/missing/bwrap', cgroup: { kind: 'none', env: {} } }),
    );
    expect(report).toMatchObject({ holds: false, cause: expect.stringContaining('/missing/bwrap') });
  });
});

describe('openSandbox', () => {
  test('never falls back: an unknown account or a missing package gives no sandbox, with cause (X-14)', async () => {
    const unknown = await openSandbox({ mode: 'user:nobody-of-this-name' });
    expect(unknown.sandbox).toBeUndefined();
    expect(unknown.report).toMatchObject({ driver: 'user', holds: false, cause: expect.any(String) });
    const macOnly = await openSandbox({ mode: 'seatbelt' });
    expect(macOnly.sandbox).toBeUndefined();
    expect(macOnly.report.cure).toMatch(/npm install/);
  });

  test('none says that it holds nothing (design 4)', async () => {
    const { sandbox, report } = await openSandbox({ mode: 'none' });
    expect(sandbox).toMatchObject({ driver: 'none', holds: false });
    expect(report).toMatchObject({ holds: false, cause: expect.stringContaining('sandbox: none') });
  });

  test.skipIf(!isRoot)(
    'user:<name> holds by file rights: another user, no capability, nothing of the server readable',
    async () => {
      const { sandbox, report } = await openSandbox({ mode: 'user:nobody' });
      expect(sandbox).toMatchObject({ driver: 'user', holds: true, owner: { uid: 65_534 } });
      expect(report.notes?.join()).toMatch(/network is open/);
    },
  );

  test.skipIf(!isRoot)('refuses root as the user of a root server’s sandboxes (X-4)', async () => {
    expect((await openSandbox({ mode: 'bubblewrap', ownerUid: 0 })).sandbox).toBeUndefined();
    expect((await openSandbox({ mode: 'user:root' })).sandbox).toBeUndefined();
  });
});

describe('cause and cure (X-14)', () => {
  const machine = (files: Record<string, string>, root = false) => ({
    isRoot: root,
    read: (path: string) => files[path] ?? '',
  });
  const denied = 'bwrap: No permissions to create a new namespace, likely because the kernel does not allow it.';
  const missing = ['reached-end'] as const;

  test.each([
    [
      'AppArmor of Ubuntu 24.04',
      { '/proc/sys/kernel/apparmor_restrict_unprivileged_userns': '1' },
      /AppArmor/,
      /profile once/,
    ],
    ['max_user_namespaces', { '/proc/sys/user/max_user_namespaces': '0' }, /max_user_namespaces = 0/, /sysctl/],
    ['unprivileged_userns_clone', { '/proc/sys/kernel/unprivileged_userns_clone': '0' }, /Only root/, /sysctl/],
    ['a container', { '/.dockerenv': 'x' }, /container may not make namespaces/, /--cap-add SYS_ADMIN/],
  ])('%s', (_name, files, cause, cure) => {
    const found = diagnose(denied, missing, machine(files));
    expect(found.cause).toMatch(cause);
    expect(found.cure).toMatch(cure);
  });

  test('a container of a root server, and one that hides /proc', () => {
    expect(
      diagnose('bwrap: Creating new namespace failed: Operation not permitted', missing, machine({}, true)).cause,
    ).toMatch(/container/);
    const proc = diagnose("bwrap: Can't mount proc on /newroot/proc: Operation not permitted", missing, machine({}));
    expect(proc.cure).toMatch(/systempaths=unconfined/);
  });

  test('anything else is quoted, made safe for one line', () => {
    expect(diagnose('bwrap: something\u001b[31m odd\nmore', missing, machine({})).cause).toBe(
      'The probe did not come to its end: bwrap: something\\u{1b}[31m odd.',
    );
    expect(diagnose('', missing, machine({})).cause).toMatch(/printed nothing/);
  });
});
