import { once } from 'node:events';
import { spawn } from 'node:child_process';
import { chmodSync, closeSync, mkdirSync, openSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { createBubblewrapSandbox } from '../../src/sandbox/bubblewrap/driver.ts';
import type { Protection } from '../../src/sandbox/bubblewrap/build-arguments.ts';
import { findSystemProgram } from '../../src/sandbox/bubblewrap/find-programs.ts';
import { chooseOwner } from '../../src/sandbox/bubblewrap/owner.ts';
import {
  buildEnvironment,
  killTree,
  type Sandbox,
  type SandboxProfile,
  startWrapped,
} from '../../src/sandbox/index.ts';
import { type AttackWorld, makeAttackWorld } from './attack-world.ts';

/**
 * Runs attacks once for each argument, as the user that runs this program, and prints a JSON line for each:
 * `{results: {attack: {through, saw}}, unchanged}`. An argument is JSON: `{without: [protection], only: [attack]}`.
 */
async function main(): Promise<void> {
  const isRoot = process.getuid!() === 0;
  for (const argument of process.argv.slice(2)) {
    const plan = JSON.parse(argument) as AttackPlan;
    const without = new Set(plan.without);
    const world = await makeAttackWorld(isRoot ? chooseOwner() : undefined);
    const sandbox = sandboxWithout(world, without);
    const second = await startSecondSession(sandboxWithout(world, new Set()), world);
    try {
      const before = world.treasures.map((path) => readFileSync(path, 'utf8'));
      const lines = await runUntilSaid(sandbox, world, plan);
      const after = world.treasures.map((path) => readFileSync(path, 'utf8'));
      const alive = world.victim.exitCode === null && second.exitCode === null;
      const unchanged = alive && before.every((text, index) => text === after[index]);
      const results = Object.fromEntries(lines.map(({ attack, ...seen }) => [attack, seen]));
      process.stdout.write(`${JSON.stringify({ results, unchanged })}\n`);
    } finally {
      killTree(second.pid!);
      await world.close();
    }
  }
}

interface AttackPlan {
  without: readonly Protection[];
  /** Empty: all. */
  only: readonly string[];
}

function sandboxWithout({ owner }: AttackWorld, without: ReadonlySet<Protection>): Sandbox {
  return createBubblewrapSandbox({
    bwrap: findSystemProgram('bwrap')!,
    setpriv: findSystemProgram('setpriv')!,
    cgroup: { kind: 'none', env: {} },
    without,
    ...(owner ? { owner } : {}),
  });
}

function profileOf(world: AttackWorld, env: Record<string, string>): SandboxProfile {
  return {
    kind: 'author',
    workFolder: world.clone,
    workFolderAccess: 'read-write',
    home: world.privateHome,
    readOnly: [world.forge, join(import.meta.dirname, 'attacks')],
    writable: [],
    socketFolders: [{ outside: world.bridgeFolder, inside: '/run/chantier/bridge' }],
    env: buildEnvironment({ home: world.privateHome, set: env }),
    cwd: world.clone,
    network: { kind: 'none' },
    limits: { processes: 120, tmpBytes: 4 * 1024 ** 2 },
  };
}

/** A session that lives while the attacks run, with a secret in its environment. */
async function startSecondSession(sandbox: Sandbox, world: AttackWorld) {
  const stateFolder = join(world.base, 'state2');
  mkdirSync(stateFolder, { mode: 0o700 });
  const profile = profileOf(world, { TOKEN: `${world.aims.A_SECRET}-session` });
  const wrapped = await sandbox.wrap(profile, ['/bin/sh', '-c', 'echo up; exec sleep 120'], stateFolder);
  const child = startWrapped(wrapped);
  await once(child.stdout!, 'data');
  return child;
}

/**
 * What binds the whole of a busy machine cannot start when a file system goes away in that moment: an attempt that said nothing
 * was none, and is made again, at most twice.
 */
async function runUntilSaid(sandbox: Sandbox, world: AttackWorld, plan: AttackPlan): Promise<AttackLine[]> {
  for (let tries = 1; ; tries += 1) {
    const lines = await runInside(sandbox, world, plan);
    if (lines.length > 0 || tries === 3) return lines;
  }
}

interface AttackLine {
  attack: string;
  through: boolean;
  saw: string;
}

/** As a session runs, but for descriptors that somebody forgot to close and, without their protection, a plain file as stdout. */
async function runInside(sandbox: Sandbox, world: AttackWorld, plan: AttackPlan): Promise<AttackLine[]> {
  const script = join(import.meta.dirname, 'attacks/attacks.pl');
  const profile = profileOf(world, { ...world.aims, A_ONLY: plan.only.join(',') });
  const wrapped = await sandbox.wrap(profile, ['/usr/bin/perl', script], world.stateFolder);
  const forgotten = openSync(world.secretFile, 'r');
  const journal = join(world.base, 'journal');
  writeFileSync(journal, '');
  chmodSync(journal, 0o666);
  const toFile = plan.without.includes('closed-descriptors');
  const out = toFile ? openSync(journal, 'a') : undefined;
  const opened = wrapped.openFiles.map(({ fd, path }) => ({ fd, file: openSync(path, 'r') }));
  const stdio: ('pipe' | 'ignore' | number | null)[] = ['ignore', 'pipe', out ?? 'pipe'];
  for (const { fd, file } of opened) stdio[fd] = file;
  for (const fd of [5, 20, 200]) stdio[fd] = forgotten;
  const [program, ...args] = wrapped.argv;
  const child = spawn(program!, args, {
    env: wrapped.env,
    cwd: wrapped.cwd,
    detached: true,
    stdio: Array.from(stdio, (entry) => entry ?? null),
  });
  const output: Buffer[] = [];
  child.stdout!.on('data', (chunk: Buffer) => output.push(chunk));
  child.stderr?.on('data', (chunk: Buffer) => process.stderr.write(chunk));
  await once(child, 'close');
  for (const file of [forgotten, ...(out === undefined ? [] : [out]), ...opened.map((entry) => entry.file)])
    closeSync(file);
  return Buffer.concat(output)
    .toString()
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => JSON.parse(line) as AttackLine);
}

await main();
