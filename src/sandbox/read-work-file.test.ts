import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { readWorkFile } from './read-work-file.ts';

function setup() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'read-')));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const root = join(base, 'work');
  mkdirSync(join(root, 'sub'), { recursive: true });
  writeFileSync(join(base, 'secret'), 'secret');
  return { base, root, read: (relative: string, max = 100) => readWorkFile(root, relative, max) };
}

const unsafe = expect.objectContaining({ ok: false, refusal: expect.objectContaining({ code: 'work_file_unsafe' }) });

test('reads a plain file, up to the bound (X-9)', async () => {
  const { root, read } = setup();
  writeFileSync(join(root, 'sub/a.txt'), 'hello');
  expect(await read('sub/a.txt')).toEqual({
    ok: true,
    value: { bytes: Buffer.from('hello'), isTruncated: false, sizeBytes: 5 },
  });
  expect(await read('sub/../sub/a.txt', 2)).toEqual({
    ok: true,
    value: { bytes: Buffer.from('he'), isTruncated: true, sizeBytes: 5 },
  });
  expect(await read('missing')).toMatchObject({ refusal: { kind: 'not-found' } });
  expect(await read('sub/a.txt/b')).toMatchObject({ refusal: { kind: 'not-found' } });
});

test('does not hang on a FIFO, on which a naive read hangs (X-9, sandbox attack 13)', async () => {
  const { root, read } = setup();
  const fifo = join(root, 'README.md');
  execFileSync('mkfifo', [fifo]);
  expect(await read('README.md')).toEqual(unsafe);

  const naive = spawn(process.execPath, ['-e', `require('fs').readFileSync(${JSON.stringify(fifo)})`], {
    stdio: 'ignore',
  });
  onTestFinished(() => void naive.kill('SIGKILL'));
  const ended = once(naive, 'exit').then(() => 'ended');
  expect(await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 400, 'hangs'))])).toBe('hangs');
});

test('follows no link out of the folder, and reads no socket, folder or device (X-9, sandbox attack 3)', async () => {
  const { base, root, read } = setup();
  symlinkSync(join(base, 'secret'), join(root, 'direct'));
  symlinkSync(base, join(root, 'folder'));
  symlinkSync('/dev/zero', join(root, 'zero'));
  const server = createServer().listen(join(root, 'sock'));
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const outside = ['../secret', join(base, 'secret'), 'sub/../../secret', '..', 'a\0b'];
  for (const name of ['direct', 'folder/secret', 'zero', 'sock', 'sub', '.', ...outside])
    expect(await read(name), name).toEqual(unsafe);
});

test('reads a file that lies behind a link inside the folder', async () => {
  const { root, read } = setup();
  writeFileSync(join(root, 'sub/a.txt'), 'hello');
  symlinkSync('sub', join(root, 'inside'));
  linkSync(join(root, 'sub/a.txt'), join(root, 'b.txt'));
  expect(await read('inside/a.txt')).toMatchObject({ ok: true });
  expect(await read('b.txt')).toMatchObject({ ok: true });
});
