import { statSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, onTestFinished, test } from 'vitest';

import { cannotRun, makeSmallWorld } from './small-world.ts';

describe.skipIf(cannotRun)(`limits${cannotRun}`, () => {
  test('memory stops at its limit where the machine has a cgroup for it, else "no memory limit" is said (X-13)', async () => {
    const { shell, sandbox } = await makeSmallWorld({ limits: { memoryBytes: 48 * 1024 ** 2 } });
    const { openSandbox } = await import('../../src/sandbox/index.ts');
    const outcome = await shell(`perl -e '$x = "x" x 200_000_000; print "had it\\n"'; true`);
    if (sandbox.limits.memory === 'cgroup') expect(outcome.outputTail).not.toMatch(/had it/);
    else expect((await openSandbox({ mode: 'auto' })).report.notes?.join()).toMatch(/no memory limit/);
  });

  test('processes stop at their limit and start again afterwards (X-13, sandbox attack 14)', async () => {
    const { shell } = await makeSmallWorld({ limits: { processes: 40 } });
    const bomb = `perl -e 'my @c; while (defined(my $p = fork())) { if (!$p) { sleep 9 } push @c, $p } print scalar(@c), "\\n"; kill 9, @c'`;
    const { outputTail } = await shell(`${bomb}; true && echo again`);
    const [count, again] = outputTail.trim().split('\n');
    expect(Number(count)).toBeGreaterThan(10);
    expect(Number(count)).toBeLessThan(40);
    expect(again).toBe('again');
  });

  test('each private tmpfs stops at its size (X-13, sandbox attack 14)', async () => {
    const { shell } = await makeSmallWorld({ limits: { tmpBytes: 1024 ** 2 } });
    const fill = (path: string) =>
      `dd if=/dev/zero of=${path}/big bs=64k 2>/dev/null; wc -c < ${path}/big; rm ${path}/big`;
    const { outputTail } = await shell(['/tmp', '/dev/shm', '/var/tmp'].map(fill).join('\n'));
    expect(outputTail.trim().split('\n')).toEqual(['1048576', '1048576', '1048576']);
  });

  test('output beyond its bound is dropped and counted; the tail is the end of it', async () => {
    const { shell, base } = await makeSmallWorld();
    const outputPath = join(base, 'out');
    const options = { outputPath, maxOutputBytes: 100_000, tailBytes: 5 };
    const outcome = await shell('head -c 3000000 /dev/zero | tr "\\0" a; printf end42', options);
    expect(outcome).toMatchObject({ exitCode: 0, outputBytes: 3_000_005, outputTail: 'end42' });
    expect(statSync(outputPath)).toMatchObject({ size: 100_000 });
    expect(statSync(outputPath).mode & 0o777).toBe(0o600);
  });

  test('aborting ends the run at once', async () => {
    const { shell } = await makeSmallWorld();
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), 150);
    onTestFinished(() => clearTimeout(timer));
    const outcome = await shell('sleep 30', { signal: controller.signal });
    expect(outcome).toMatchObject({ aborted: true, timedOut: false, survivors: 0 });
    expect(outcome.durationMs).toBeLessThan(2_000);
  });
});
