import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { pathsOf } from '../config/index.ts';
import { awaitReady } from './autostart.ts';
import { runCli } from './index.ts';

const passphrase = 'correct horse battery';
const main = join(import.meta.dirname, 'main.ts');

/** A home of its own with a real server; verbs run in this process, as the program would run them. */
async function startWorld() {
  const home = mkdtempSync(join(tmpdir(), 'chantier-up-'));
  const paths = pathsOf(home);
  const env = {
    PATH: process.env.PATH ?? '',
    HOME: home,
    CHANTIER_HOME: home,
    CHANTIER_PORT: '0',
    CHANTIER_AUTOSTART: 'false',
    XDG_RUNTIME_DIR: join(home, 'runtime'),
  };
  const secret = join(home, 'passphrase');
  writeFileSync(secret, `${passphrase}\n`, { mode: 0o600 });
  const children: ChildProcess[] = [];
  const start = async (): Promise<void> => {
    const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', main, 'up', '--serve'], {
      env,
      stdio: 'ignore',
    });
    children.push(child);
    expect(await awaitReady(paths, 90_000)).toBe(true);
  };
  const end = async (): Promise<void> => {
    await Promise.all(children.map((child) => endProcess(child, 'SIGTERM')));
    rmSync(home, { recursive: true, force: true });
    rmSync(`${home}-work`, { recursive: true, force: true });
  };
  const run = async (argv: string[], more: { stdin?: string } = {}) => {
    let out = '';
    let err = '';
    const exitCode = await runCli(argv, {
      env,
      cwd: home,
      out: (text) => (out += text),
      err: (text) => (err += text),
      readStdin: async () => more.stdin ?? '',
      hasTerminal: () => false,
      signal: new AbortController().signal,
    });
    return { exitCode, out, err, json: <T>() => JSON.parse(out) as T };
  };
  const withPassphrase = (argv: string[]) => run([...argv, '--passphrase-fd', String(openSync(secret, 'r'))]);
  await start();
  const url = (): string => (JSON.parse(readFileSync(paths.server, 'utf8')) as { address: string }).address;
  return { home, paths, run, withPassphrase, start, end, url, server: () => children.at(-1)! };
}

async function endProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await exited;
}

const project = JSON.stringify({
  codename: 'rounding',
  title: 'Rounding of prices',
  firstJob: { codename: 'rounding-job', title: 'Fix it' },
  firstTasks: [{ title: 'Round half up' }],
});

/** One instance from its first run to its end; starting a server for each test would cost the suite minutes. The order counts. */
describe('an instance', () => {
  let world: Awaited<ReturnType<typeof startWorld>>;
  beforeAll(async () => {
    world = await startWorld();
  }, 120_000);
  afterAll(() => world.end());

  it('on its first run needs a human: without a terminal exit 9 names the command; init by descriptor sets the one operator', async () => {
    const { run, withPassphrase } = world;
    const asked = await run(['run', 'do it', '--json']);
    expect([asked.exitCode, asked.json<{ code: string; detail: string }>()]).toEqual([
      9,
      expect.objectContaining({
        code: 'no_operator',
        detail: expect.stringContaining('chantier init --passphrase-fd'),
      }),
    ]);
    expect((await run(['whoami', '--json'])).json()).toMatchObject({ hasOperator: false, principal: 'operator-cli' });
    const done = await withPassphrase(['init', '--phase', '3', '--json']);
    expect(done.json()).toMatchObject({ operatorCreated: true, phase: 3 });
    expect((await run(['config', 'get', 'gate.phase', '--json'])).json()).toMatchObject({
      value: 3,
      source: 'operator',
    });
  }, 60_000);

  it('for a decision takes the passphrase each time, or an open terminal; nothing less, and each refused try is an event', async () => {
    const { run, withPassphrase, home } = world;
    const verdict = ['approve', 'nothing-here', '--json'];
    expect(await run(verdict)).toMatchObject({ exitCode: 9 });
    expect((await withPassphrase(verdict)).exitCode).toBe(8);
    const unlocked = await withPassphrase(['unlock', '--json']);
    if (unlocked.exitCode === 0) {
      expect((await run(verdict)).exitCode).toBe(8);
      expect((await run(['config', 'set', 'land.auto', 'low', '--json'])).json()).toMatchObject({
        code: 'fresh_proof_required',
      });
      await run(['unlock', '--end']);
    } else {
      // On a machine whose sandbox does not hold there is no open terminal.
      expect(unlocked.json()).toMatchObject({ code: 'unlock_off' });
    }
    expect(await run(verdict)).toMatchObject({ exitCode: 9 });
    const events = (
      await run(['events', '--kind', 'access.refused', '--after', '0', '--limit', '1000', '--json'])
    ).json<{
      items: { facts: { code: string } }[];
    }>();
    expect(events.items.map((event) => event.facts.code).filter((code) => code === 'proof_required')).toHaveLength(2);
    expect(statSync(join(home, 'operator.token')).mode & 0o777).toBe(0o600);
  }, 60_000);

  it('refuses a wrong passphrase, and a setting that lowers safety takes the right one anew', async () => {
    const { run, withPassphrase, home } = world;
    writeFileSync(join(home, 'wrong'), 'not the passphrase');
    const wrong = await run([
      'config',
      'set',
      'land.auto',
      'low',
      '--passphrase-fd',
      String(openSync(join(home, 'wrong'), 'r')),
      '--json',
    ]);
    expect([wrong.exitCode, wrong.json<{ code: string }>().code]).toEqual([9, 'wrong_passphrase']);
    expect((await withPassphrase(['config', 'set', 'land.auto', 'low', '--json'])).json()).toMatchObject({
      value: 'low',
    });
  }, 60_000);

  it('creates work once for its key, lists and shows it, judges it dry, and refuses with exit codes', async () => {
    const { run } = world;
    const create = ['project', 'create', '--idempotency-key', 'k1', '--json'];
    const dry = await run([...create.slice(0, 2), '--dry-run', '--json'], { stdin: project });
    expect(dry.json()).toMatchObject({ dryRun: true, projectId: null });
    const first = await run(create, { stdin: project });
    expect(first.exitCode).toBe(0);
    expect((await run(create, { stdin: project })).json()).toEqual(first.json());
    const other = await run(create, { stdin: project.replace('half up', 'down') });
    expect([other.exitCode, other.json<{ code: string }>().code]).toEqual([5, 'idempotency_conflict']);
    expect((await run(['project', 'list', '--json'])).json()).toMatchObject({ items: [{ codename: 'rounding' }] });
    expect((await run(['task', 'ready', '--json'])).json()).toMatchObject([{ title: 'Round half up', isReady: true }]);
    expect((await run(['project', 'show', 'rounding'])).out).toContain('todo (ready) · Round half up');
    expect((await run(['project', 'show', 'nowhere', '--json'])).exitCode).toBe(8);
    expect((await run(['project', 'create', '--json'], { stdin: '{}' })).exitCode).toBe(2);
    expect((await run(['respond', 'rounding/rounding-job-t1', 'yes', '--json'])).exitCode).toBe(9);
    expect((await run(['pause', 'rounding/rounding-job-t1', '--json'])).exitCode).toBeGreaterThan(1);
  }, 60_000);

  it('gives an export that holds by itself, and one changed byte names its event (exit 1)', async () => {
    const { run, home } = world;
    const file = join(home, 'events.ndjson');
    expect((await run(['audit', 'export', file, '--json'])).json()).toEqual({ path: file });
    expect((await run(['audit', 'verify', file, '--json'])).json()).toMatchObject({ ok: true });
    const evidence = join(home, 'evidence.ndjson');
    expect((await run(['audit', 'export', evidence, '--evidence', '--json'])).exitCode).toBe(0);
    expect((await run(['audit', 'verify', evidence, '--json'])).json()).toMatchObject({ ok: true });
    const rejections = (await run(['audit', 'export', '--rejections'])).out.trim().split('\n');
    expect(rejections.map((line) => JSON.parse(line) as unknown)).toContainEqual({
      timestamp: expect.stringMatching(/Z$/) as string,
      peer_id: 'operator',
      message_type: 'PAUSE',
      reason: 'unknown_work_key',
      story_id: 'rounding/rounding-job-t1',
      event: 'COMMAND_REJECTED',
    });
    expect((await run(['audit', 'export', '--rejections', '--evidence', '--json'])).exitCode).toBe(2);
    const lines = readFileSync(file, 'utf8').split('\n');
    const third = JSON.parse(lines[2]!) as { id: string };
    lines[2] = lines[2]!.replace('"at":1', '"at":2');
    writeFileSync(file, lines.join('\n'));
    const broken = await run(['audit', 'verify', file, '--json']);
    expect([broken.exitCode, broken.json()]).toMatchObject([
      1,
      { ok: false, firstFault: { seq: 3, id: third.id, fault: 'changed' } },
    ]);
  }, 60_000);

  it('lets the console log in, read with the cookie and decide with the proof; a rebound name gets 421', async () => {
    const { url } = world;
    const origin = url();
    const send = (method: string, path: string, headers: Record<string, string>, body?: unknown) =>
      exchange(
        new URL(path, origin),
        method,
        { origin, 'sec-fetch-site': 'same-origin', 'content-type': 'application/json', ...headers },
        body,
      );
    const logIn = await send('POST', '/api/log-ins', {}, { name: 'operator', passphrase });
    expect(logIn.status).toBe(201);
    const cookie = (logIn.headers['set-cookie']?.[0] ?? '').split(';')[0]!;
    const { proof } = JSON.parse(logIn.text) as { proof: string };
    expect((await send('GET', '/api/status', { cookie })).status).toBe(200);
    const change = { 'idempotency-key': 'k', cookie };
    expect((await send('PUT', '/api/decisions/none/verdict', change, { verdict: 'approve' })).status).toBe(403);
    expect(
      (await send('PUT', '/api/decisions/none/verdict', { ...change, 'chantier-proof': proof }, { verdict: 'approve' }))
        .status,
    ).toBe(404);
    expect((await send('GET', '/healthz', { host: 'evil.example' })).status).toBe(421);
    expect((await send('GET', '/api/status', { cookie, 'sec-fetch-site': 'same-site' })).status).toBe(403);
  }, 60_000);

  it('starts no second server and says where the first one runs, survives kill -9 with the same token, and ends on down', async () => {
    const { run, paths, start, server, url } = world;
    const second = await run(['up', '--json']);
    expect([second.exitCode, second.json()]).toMatchObject([0, { started: false, url: url(), pid: server().pid }]);
    const readable = await run(['up']);
    expect(readable.out).toMatch(/runs already at http.*\(pid \d+\)/);
    const token = readFileSync(paths.operatorToken, 'utf8');
    await endProcess(server(), 'SIGKILL');
    expect((await run(['status', '--json'])).exitCode).toBe(7);
    await start();
    expect(readFileSync(paths.operatorToken, 'utf8')).toBe(token);
    expect((await run(['audit', 'verify', '--json'])).json()).toMatchObject({ ok: true, firstFault: null });
    expect(url()).toMatch(/^http:\/\/127\.0\.0\.1:\d+$/);
    expect((await run(['down', '--json'])).json()).toMatchObject({ running: false });
    expect((await run(['down', '--json'])).json()).toEqual({ running: false });
    expect((await run(['status', '--json'])).exitCode).toBe(7);
  }, 60_000);
});

function exchange(
  url: URL,
  method: string,
  headers: Record<string, string>,
  body?: unknown,
): Promise<{ status: number; headers: NodeJS.Dict<string[]> & { 'set-cookie'?: string[] }; text: string }> {
  return new Promise((resolve, reject) => {
    const sending = request(url, { method, headers }, (message) => {
      let text = '';
      message.setEncoding('utf8');
      message.on('data', (chunk: string) => (text += chunk));
      message.once('end', () => resolve({ status: message.statusCode ?? 0, headers: message.headers as never, text }));
    });
    sending.once('error', reject);
    sending.end(body === undefined ? undefined : JSON.stringify(body));
  });
}
