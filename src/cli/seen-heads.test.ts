import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, it, onTestFinished } from 'vitest';

import { runCli } from './index.ts';
import { readSeenHead, rememberSeenHead, seenFileOf } from './seen-heads.ts';

const first = 'a'.repeat(40);
const second = 'b'.repeat(40);

/** A server that has one pull request and refuses whatever is decided; a test sees what was sent. */
async function setup() {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-seen-'));
  const sent: { path: string; body: Record<string, unknown> }[] = [];
  const state = { head: first };
  const server = createServer(async (request, response) => {
    const path = request.url ?? '';
    let text = '';
    for await (const part of request) text += String(part);
    const send = (status: number, body: unknown): void => {
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (request.method === 'GET' && path.endsWith('/diff'))
      return send(200, {
        number: 3,
        baseCommit: first,
        headCommit: state.head,
        files: [],
        isTruncated: false,
        reason: null,
      });
    if (request.method === 'GET') return send(200, pullRequest(state.head));
    sent.push({ path, body: JSON.parse(text) as Record<string, unknown> });
    send(409, { code: 'seen', title: 'seen', detail: 'seen', status: 409 });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const env = {
    CHANTIER_HOME: join(folder, 'home'),
    CHANTIER_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    XDG_RUNTIME_DIR: join(folder, 'runtime'),
  };
  const run = async (...argv: string[]) => {
    let out = '';
    const exitCode = await runCli([...argv, '--json'], {
      env,
      cwd: '/',
      out: (text) => (out += text),
      err: () => {},
      readStdin: async () => '',
      hasTerminal: () => false,
      signal: new AbortController().signal,
    });
    return { exitCode, code: (JSON.parse(out) as { code?: string }).code };
  };
  return { run, sent, state, file: join(folder, 'seen.json') };
}

function pullRequest(head: string): unknown {
  const texts = { title: 'T', body: '', author: 'a', branch: 'b', base: 'main', state: 'approved', risk: 'low' };
  return {
    id: 'pr-id',
    number: 3,
    ...texts,
    headCommit: head,
    riskReasons: [],
    verdicts: [],
    checks: [],
    waitsFor: null,
  };
}

it.each([
  ['human', 'approve'],
  ['land', undefined],
])('%s sends no yes to a change that was not looked at, and else the head that was printed (A6)', async (verb, act) => {
  const { run, sent, state } = await setup();
  const yes = act === undefined ? [verb, '3'] : [verb, act, '3'];
  expect(await run(...yes)).toEqual({ exitCode: 2, code: 'head_missing' });
  expect(sent).toEqual([]);

  await run('pr', 'show', '#3', '--diff');
  state.head = second;
  expect((await run(...yes)).code).toBe('seen');
  expect(sent.at(-1)).toMatchObject({
    path: expect.stringContaining('/api/pull-requests/pr-id/'),
    body: { head: first },
  });

  await run('pr', 'show', '3');
  await run(...yes, '--seen-whole');
  expect(sent.at(-1)?.body).toMatchObject({ head: second, isSeenWhole: true });
  await run(...yes, '--head', first.slice(0, 12));
  expect(sent.at(-1)?.body).toMatchObject({ head: first.slice(0, 12) });
});

it('heads that were printed lie in a file that others cannot have written, and the oldest are forgotten', async () => {
  const { file } = await setup();
  expect(readSeenHead(file, 'pr-0')).toBeUndefined();
  for (let i = 0; i < 101; i += 1) rememberSeenHead(file, `pr-${i}`, first);
  expect([readSeenHead(file, 'pr-0'), readSeenHead(file, 'pr-1'), readSeenHead(file, 'pr-100')]).toEqual([
    undefined,
    first,
    first,
  ]);
  chmodSync(file, 0o666);
  expect(readSeenHead(file, 'pr-100')).toBeUndefined();
  expect(seenFileOf('/run/user/1/chantier/0123.unlock')).toBe('/run/user/1/chantier/0123.seen.json');
});
