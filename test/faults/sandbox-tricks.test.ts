import { execFile, execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { describe, expect, onTestFinished, test, vi } from 'vitest';

import { cannotRun } from '../sandbox/small-world.ts';

const root = join(import.meta.dirname, '../..');
const cli = join(root, 'src/cli/main.ts');
const passphrase = 'a passphrase of the test';

/** Lets the agent run in a fresh instance and waits for what it reports. */
async function runTricks(mode: 'auto' | 'none') {
  const { base, home, chantier } = await setup();
  const proof = ['--passphrase-fd', '3', '--json'];
  await chantier('init', '--operator', 'boss', '--phase', '3', '--sandbox', mode, ...proof);
  // The barrier is opened once, at the start of the server.
  if (mode === 'none') await chantier('down', '--json');
  await chantier('up', '--detach', '--json');
  const { address } = JSON.parse(readFileSync(join(home, 'server.json'), 'utf8')) as { address: string };
  const rights = join(root, 'src/wire/rights.ts');
  const command = [process.execPath, 'tricks.mjs', rights, cli, address, home];
  const agent = ['trickster', '--driver', 'command', '--family', 'other', ...proof, '--', ...command];
  await chantier('agent', 'add', ...agent);
  const before = await outside(chantier, home);
  const repository = ['--repo', join(base, 'repository'), '--agent', 'trickster', '--trust'];
  await chantier('run', 'try everything', ...repository, ...proof);

  const report = await vi.waitFor(() => readReport(`${home}-work`), { timeout: 200_000, interval: 500 });
  return { chantier, home, before, report };
}

/** A real instance with its server, one repository, and an agent that does nothing but try to decide. */
async function setup() {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'tricks-')));
  const home = join(base, 'home');
  const env = {
    PATH: process.env.PATH,
    HOME: join(base, 'operator'),
    CHANTIER_HOME: home,
    CHANTIER_PORT: '0',
    LANG: 'C.UTF-8',
  };
  for (const folder of ['operator', 'repository']) mkdirSync(join(base, folder));
  /** The operator's CLI. The passphrase waits at descriptor 3, as a password manager would give it. */
  const chantier = async (...args: string[]): Promise<Record<string, never>> => {
    const line = `exec 3<<EOF\n${passphrase}\nEOF\nexec "$@"`;
    const command = ['-c', line, 'sh', process.execPath, cli, ...args];
    const { stdout } = await promisify(execFile)('/bin/sh', command, {
      env,
      cwd: join(base, 'repository'),
      timeout: 60_000,
    });
    return JSON.parse(stdout) as Record<string, never>;
  };
  onTestFinished(async () => {
    await chantier('down', '--stop-agents', '--json').catch(() => {});
    rmSync(base, { recursive: true, force: true });
  });
  copyFileSync(join(import.meta.dirname, '../sandbox/attacks/tricks.mjs'), join(base, 'repository/tricks.mjs'));
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], {
      cwd: join(base, 'repository'),
      env,
    });
  git('init', '-q', '-b', 'main');
  git('add', '.');
  git('commit', '-qm', 'one');
  return { base, home, chantier };
}

describe.skipIf(cannotRun)(`an agent that tries everything${cannotRun}`, () => {
  test(
    'with the CLI, the socket, the token and the whole environment it decides nothing and reads nothing (G-20, X-3, X-7, sandbox attacks 3, 10, 11, 12)',
    { timeout: 300_000 },
    async () => {
      const { chantier, home, before, report } = await runTricks('auto');
      expect(report.tried).toBeGreaterThan(300);
      expect(report).toMatchObject({ answered: [], cli: [], found: [], network: [], processes: [] });
      // The name of its folder's own database is no address and no key.
      const names = report.env.filter((name) => name !== 'CHANTIER_DATABASE_NAME');
      for (const name of names) expect(name).not.toMatch(/SSH_|DBUS|DATABASE|XDG_RUNTIME|OPERATOR/);

      expect(await outside(chantier, home)).toEqual(before);
      expect(await chantier('audit', 'verify', '--json')).toBeDefined();
    },
  );

  test(
    'is held by the sandbox: without one the same agent finds the token, other processes and the server',
    { timeout: 300_000 },
    async () => {
      const { report, home } = await runTricks('none');
      expect(report.found).toContain(join(home, 'operator.token'));
      expect(report.network).toContain('directly');
      expect(report.processes).not.toEqual([]);
    },
  );
});

interface Report {
  env: string[];
  tried: number;
  answered: string[];
  cli: string[];
  found: string[];
  network: string[];
  processes: string[];
}

interface EventLine {
  kind: string;
  actor: { kind: string };
}

type Cli = Awaited<ReturnType<typeof setup>>['chantier'];

/** What may not change whatever an agent does: the token, the settings, the users, what was settled, the base branch. */
async function outside(chantier: Cli, home: string) {
  const token = createHash('sha256')
    .update(readFileSync(join(home, 'operator.token')))
    .digest('hex');
  const [settings, whoami] = [await chantier('config', 'list', '--json'), await chantier('whoami', '--json')];
  const { items } = (await chantier('events', '--limit', '1000', '--json')) as unknown as { items: EventLine[] };
  const decided = items.filter(
    ({ kind, actor }) =>
      actor.kind === 'session' && /settled|decided|landed|trusted|unlock|user|proof|setting/.test(kind),
  );
  return { token, settings, whoami, decided };
}

function readReport(workRoot: string): Report {
  for (const name of existsSync(workRoot) ? readdirSync(workRoot) : []) {
    const file = join(workRoot, name, 'clone/tricks.json');
    if (existsSync(file)) return JSON.parse(readFileSync(file, 'utf8')) as Report;
  }
  throw new Error('the agent has not finished');
}
