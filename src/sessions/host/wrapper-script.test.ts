import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test, vi } from 'vitest';

import { plainCommand } from '../../../test/agents/agent-world.ts';
import { filesOf } from './generation-files.ts';
import type { ExitRecord, ProcessRecord } from './generation-files.ts';
import { buildWrapperScript } from './wrapper-script.ts';

/** Shells that machines have as `/bin/sh`, as far as they are here. */
const shells = [['/bin/dash'], ['/bin/bash', '--posix'], ['/bin/busybox', 'sh'], ['/bin/ksh'], ['/bin/mksh']].filter(
  ([program]) => existsSync(program!),
);

test.each(shells)('the wrapper runs under %s %s', async (...shell) => {
  const folder = mkdtempSync(join(tmpdir(), "chantier wrapper's "));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  const files = filesOf(folder);
  const command = plainCommand(['/bin/sh', '-c', 'read -r line; echo "$line $0"; echo oops >&2; exit 7', "it's"]);
  writeFileSync(files.script, buildWrapperScript(files, command));
  writeFileSync(files.inbox, 'hello\n');
  writeFileSync(files.journal, '');
  const [program = '', ...args] = shell.filter((word) => word !== undefined);
  const wrapper = spawn(program, [...args, files.script], { detached: true, stdio: 'ignore', env: command.env });
  expect(await once(wrapper, 'exit')).toEqual([0, null]);
  await vi.waitFor(() => expect(readFileSync(files.journal, 'utf8')).toBe("hello it's\n"), { interval: 5 });
  expect((JSON.parse(readFileSync(files.exit, 'utf8')) as ExitRecord).code).toBe(7);
  const record = JSON.parse(readFileSync(files.pid, 'utf8')) as ProcessRecord;
  expect(record.wrapper.pid).toBe(wrapper.pid);
  const pids = [record.wrapper, record.agent, record.feeder, record.appender, record.ring].map(({ pid }) => pid);
  expect(new Set(pids).size).toBe(5);
});

test('refuses descriptors that a shell cannot name', () => {
  const command = { ...plainCommand(['/bin/true']), openFiles: [{ fd: 10, path: '/dev/null' }] };
  expect(() => buildWrapperScript(filesOf('/tmp'), command)).toThrow('3 to 9');
});
