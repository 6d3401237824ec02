import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it, onTestFinished } from 'vitest';

import { operatorSocketOf, pathsOf } from '../config/index.ts';
import { type RefusalKind, refusalOutcomes } from '../kernel/index.ts';
import { acquireInstanceLock } from '../store/index.ts';
import { rights } from '../wire/index.ts';
import { type CliIo, exitCodes, runCli, serverEnvironment } from './index.ts';
import { readPassphraseFrom } from './passphrase.ts';
import { oneLine, table, visible } from './show.ts';
import { readUnlock, unlockFileOf, writeUnlock } from './unlock-file.ts';

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'chantier-cli-'));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function run(argv: string[], options: Partial<CliIo> = {}) {
  let out = '';
  let err = '';
  const exitCode = await runCli(argv, {
    env: { CHANTIER_HOME: temporaryFolder(), CHANTIER_AUTOSTART: 'false' },
    cwd: '/',
    out: (text) => (out += text),
    err: (text) => (err += text),
    readStdin: async () => '',
    hasTerminal: () => false,
    signal: new AbortController().signal,
    ...options,
  });
  return { exitCode, out, err };
}

describe('an unknown verb', () => {
  it('names the seven, changes nothing and exits 2 (ERR-05, S-14)', async () => {
    const { exitCode, out, err } = await run(['deploy-all']);
    expect([exitCode, out]).toEqual([2, '']);
    expect(err).toContain('Unknown command. Available: start, status, escalations, respond, pause, resume, stop');
  });

  it('accepts the seed’s spelling escalade', async () => {
    expect((await run(['escalade', '--json'])).out).toContain('server_unreachable');
  });
});

describe('--json', () => {
  it.each([
    [['status', '--json'], 7, 'server_unreachable'],
    [['--json', 'status'], 7, 'server_unreachable'],
    [['start', '--json'], 2, 'usage'],
    [['start', 'a', 'b', '--nonsense', '--json'], 2, 'usage'],
    [['nonsense', '--json'], 2, 'unknown_command'],
    [['task', 'list', '--json'], 7, 'server_unreachable'],
    [['config', 'get', 'x', '--json'], 7, 'server_unreachable'],
    [['pause', 'x', '--idempotency-key', 'a b', '--json'], 2, 'idempotency_key_malformed'],
    [['project', 'create', '-f', '/nowhere.json', '--json'], 2, 'unreadable_file'],
    [['up', '--port', '70000', '--json'], 2, 'bad_port'],
    [['audit', 'verify', '/nowhere.ndjson', '--json'], 8, 'no_such_file'],
    [['run', 'x', '--timeout', '90', '--json'], 2, 'usage'],
  ])('%j prints exactly one line, one document, and exits %i', async (argv, exitCode, code) => {
    const done = await run(argv);
    expect(done.out.endsWith('\n')).toBe(true);
    expect(done.out.trimEnd().split('\n')).toHaveLength(1);
    expect([done.exitCode, (JSON.parse(done.out) as { code: string }).code]).toEqual([exitCode, code]);
  });

  it('after -- is an argument like any other', async () => {
    const done = await run(['tell', 'x', '--', '--json']);
    expect([done.exitCode, done.out]).toEqual([7, '']);
  });
});

describe('exit codes', () => {
  it('are those of the contract, one for each kind of refusal (design 8, S-15)', () => {
    const byKind = Object.fromEntries(Object.entries(refusalOutcomes).map(([kind, { exitCode }]) => [kind, exitCode]));
    expect(byKind).toEqual({
      invalid: 2,
      quota: 3,
      budget: 3,
      duplicate: 4,
      held: 4,
      'idempotency-conflict': 5,
      'wrong-state': 6,
      unreachable: 7,
      'not-found': 8,
      'not-permitted': 9,
      'proof-required': 9,
      'not-landed': 10,
      'still-open': 11,
    } satisfies Record<RefusalKind, number>);
    expect(Object.keys(exitCodes).map(Number)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
  });
});

/** A server of ours that answers each request as told, on a port of its own. */
async function answering(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('the idempotency key that a change makes', () => {
  const pause = (url: string, ...more: string[]) =>
    run(['pause', 'x', ...more], { env: { CHANTIER_HOME: temporaryFolder(), CHANTIER_URL: url } });

  it('is no noise on the error output of a change whose outcome is known', async () => {
    const refusing = await answering((_, response) => {
      response.writeHead(404, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ code: 'unknown_work_key', kind: 'not-found', detail: 'There is no x.' }));
    });
    expect((await pause(refusing)).err).not.toMatch(/dempotency/);
    expect((await pause(refusing, '--verbose')).err).toMatch(/^Idempotency key: [\w-]{36}\n/);
  });

  it('is not lost when nobody knows whether the change was made', async () => {
    const sent: unknown[] = [];
    const dying = await answering((request) => {
      sent.push(request.headers['idempotency-key']);
      request.socket.destroy();
    });
    const done = await pause(dying);
    expect([done.exitCode, sent.length]).toEqual([7, 1]);
    expect(done.err).toContain(`--idempotency-key ${String(sent[0])}`);
  });
});

describe('up beside a server of another version', () => {
  it('does not pretend that this version runs: exit 4 says both and what to do', async () => {
    const home = temporaryFolder();
    const url = await answering((_, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ version: '0.0.1-other' }));
    });
    const lock = acquireInstanceLock(pathsOf(home));
    if (!lock.held) throw new Error('a home of our own is held');
    onTestFinished(() => lock.release());
    const socket = operatorSocketOf(home) ?? '';
    lock.announce(url);
    const onSocket = createServer((_, response) => response.end(JSON.stringify({ version: '0.0.1-other' })));
    await new Promise<void>((resolve) => onSocket.listen(socket, resolve));
    onTestFinished(() => void onSocket.close());
    const done = await run(['up', '--json'], { env: { CHANTIER_HOME: home, CHANTIER_AUTOSTART: 'false' } });
    expect(done.exitCode).toBe(4);
    expect(JSON.parse(done.out)).toMatchObject({
      code: 'other_version_runs',
      facts: { running: '0.0.1-other', pid: process.pid },
      detail: expect.stringContaining('chantier down'),
    });
  });
});

describe('watch remove', () => {
  it('takes --yes as its sibling does', async () => {
    const done = await run(['watch', 'remove', '--yes', 'claude', '--json']);
    expect([done.exitCode, JSON.parse(done.out)]).toEqual([
      0,
      { removed: [{ agent: 'claude', outcome: 'not-installed' }] },
    ]);
  });
});

describe('inside an agent', () => {
  it.each([['up'], ['unlock'], ['init'], ['status']])('%s starts no server and opens nothing', async (verb) => {
    const env = { CHANTIER_HOME: temporaryFolder(), CHANTIER_RUN: 'r1' };
    const done = await run([verb, '--json'], { env });
    expect([done.exitCode, (JSON.parse(done.out) as { code: string }).code]).toEqual([9, 'inside_agent']);
  });
});

describe('every path that a command sends to', () => {
  it('is a route of the table of rights', () => {
    const sources = execFileSync(
      'grep',
      ['-rhoE', '--exclude=*.test.ts', `["'\`]/api/[^"'\`?]*`, join(import.meta.dirname)],
      {
        encoding: 'utf8',
      },
    );
    const known = new Set(Object.keys(rights).map((route) => route.split(' ')[1]!.replaceAll(/\{\w+\}/g, '*')));
    const used = sources
      .split('\n')
      .filter((line) => line !== '' && !line.includes('/api/[') && !line.includes('/api/sessions/-/'))
      .map((line) => line.slice(1).replaceAll(/\$\{.*$/g, (rest) => placeholders(rest)));
    expect(used.length).toBeGreaterThan(20);
    expect(used.filter((path) => ![...known].some((route) => route === path || route.startsWith(`${path}/`)))).toEqual(
      [],
    );
  });
});

/** `${encodeURIComponent(x)}/answers` → `*` and what follows it. */
function placeholders(rest: string): string {
  return `*${/\}(\/[a-z-]+)/.exec(rest)?.[1] ?? ''}`;
}

describe('a server that is started in the background', () => {
  it('gets a clean environment: settings and places, no token, no key, no relative PATH', () => {
    const env = serverEnvironment(
      {
        HOME: '/home/you',
        PATH: '/usr/bin:./bin::/bin',
        ANTHROPIC_API_KEY: 'secret',
        GITHUB_TOKEN: 'secret',
        SSH_AUTH_SOCK: '/run/ssh',
        NODE_OPTIONS: '--require /evil.js',
        GIT_DIR: '/evil',
        LD_PRELOAD: '/evil.so',
        CHANTIER_TOKEN: 'secret',
        CHANTIER_RUN: 'r1',
        CHANTIER_PHASE: '1',
      },
      '/home/you/.chantier',
    );
    expect(env).toEqual({
      CHANTIER_HOME: '/home/you/.chantier',
      CHANTIER_PHASE: '1',
      HOME: '/home/you',
      PATH: '/usr/bin:/bin',
    });
  });
});

describe('the passphrase', () => {
  it('comes from an open file descriptor, without its last line feed', () => {
    const file = join(temporaryFolder(), 'passphrase');
    writeFileSync(file, 'correct horse\n');
    expect(readPassphraseFrom(String(openSync(file, 'r')))).toBe('correct horse');
    expect(() => readPassphraseFrom('999')).toThrow(/Cannot read the passphrase/);
    expect(() => readPassphraseFrom('3x')).toThrow(/number of an open file descriptor/);
  });
});

describe('the token of an open terminal', () => {
  it('lies in the runtime folder, private, and is not believed when others could have written it', () => {
    const file = unlockFileOf('/home/you/.chantier', { XDG_RUNTIME_DIR: temporaryFolder() });
    writeUnlock(file, 'token');
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(statSync(join(file, '..')).mode & 0o777).toBe(0o700);
    expect(readUnlock(file)).toBe('token');
    chmodSync(file, 0o644);
    expect(readUnlock(file)).toBeUndefined();
  });
});

describe('what is printed', () => {
  it('carries no control or direction-changing character of agents and repositories (ledger case 43)', () => {
    expect(visible('a\u001b[31mb\u202Ec\nd')).toBe('a\\u{1b}[31mb\\u{202e}c\nd');
    expect(oneLine('a\n\tb', 10)).toBe('a b');
    expect(oneLine('abcdef', 4)).toBe('abc…');
    expect(table(['A', 'B'], [['xx', null]])).toBe('A   B\nxx  –');
  });
});

describe('bin/chantier', () => {
  const program = join(import.meta.dirname, '../../bin/chantier');

  /** A package of its own with a `node` of the given version on the machine. */
  function setup(version: string | undefined, parts: { own?: string; entry?: 'dist' | 'src' | 'newer src' } = {}) {
    const folder = temporaryFolder();
    const machine = join(folder, 'machine');
    mkdirSync(join(folder, 'package/bin'), { recursive: true });
    mkdirSync(machine);
    copyFileSync(program, join(folder, 'package/bin/chantier'));
    if (version !== undefined) fakeNode(join(machine, 'node'), version);
    if (parts.own !== undefined) {
      mkdirSync(join(folder, 'package/node_modules/node/bin'), { recursive: true });
      fakeNode(join(folder, 'package/node_modules/node/bin/node'), parts.own);
    }
    if (parts.entry === 'dist' || parts.entry === 'newer src') {
      mkdirSync(join(folder, 'package/dist'));
      writeFileSync(join(folder, 'package/dist/cli.js'), '');
      utimesSync(join(folder, 'package/dist/cli.js'), 1_000_000, 1_000_000);
    }
    if (parts.entry === 'src' || parts.entry === 'newer src') {
      mkdirSync(join(folder, 'package/src/cli'), { recursive: true });
      writeFileSync(join(folder, 'package/src/cli/main.ts'), '');
    }
    const link = join(folder, 'linked');
    symlinkSync('package/bin/chantier', link);
    const done = spawnSync(link, ['status', 'a b'], { env: { PATH: `${machine}:/usr/bin:/bin` }, encoding: 'utf8' });
    return { status: done.status, out: done.stdout.replaceAll(folder, ''), err: done.stderr };
  }

  function fakeNode(file: string, version: string): void {
    writeFileSync(file, `#!/bin/sh\nif [ "$1" = --version ]; then echo ${version}; else echo ${version} "$@"; fi\n`, {
      mode: 0o755,
    });
  }

  it('takes the Node of the package where the machine’s is older, through a symbolic link', () => {
    const { status, out } = setup('v20.10.0', { own: 'v24.21.0', entry: 'dist' });
    expect([status, out]).toEqual([
      0,
      'v24.21.0 --disable-warning=ExperimentalWarning --max-semi-space-size=4 /package/dist/cli.js status a b\n',
    ]);
  });

  it('runs the sources where there is no bundle', () => {
    const { out } = setup('v24.15.0', { entry: 'src' });
    expect(out).toContain('/package/src/cli/main.ts status a b');
  });

  it('runs the sources where they are newer than the bundle', () => {
    const { out } = setup('v25.9.0', { entry: 'newer src' });
    expect(out).toContain('/package/src/cli/main.ts status a b');
  });

  it('says so when there is no Node 24.15, or nothing to run', () => {
    const old = setup('v24.14.1', { entry: 'dist' });
    expect([old.status, old.err]).toEqual([
      1,
      expect.stringContaining('chantier needs Node 24.15 or newer. This machine has v24.14.1'),
    ]);
    const empty = setup('v24.15.0');
    expect([empty.status, empty.err]).toEqual([1, expect.stringContaining('chantier is incomplete')]);
  });
});
