import { execFile } from 'node:child_process';
import { readdirSync, readFileSync, readlinkSync, rmSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import {
  baseTip,
  createWorkFolder,
  type InSandbox,
  prepareWorkFolder,
  runChecks,
  type WorkFolder,
} from '../../src/forge/index.ts';
import { mustOk } from '../../src/kernel/index.ts';
import { openSandbox } from '../../src/sandbox/index.ts';
import { adoptRepository, type ForgeWorld, makeRepository, openForgeWorld, turing } from '../repositories/index.ts';
import { type Figure, figureOf, timed } from './figure.ts';

/** Files of the dependencies that the bench makes, about 18 KB each: 60,000 are the 1 GB of the target. */
const manyFiles = 60_000;

/**
 * The second and third work folder of a repository with 1 GB of dependencies (design section 11), against one plain `cp -a`
 * of the same files. The copy that is made ahead is what keeps the target; the figure without it is beside it.
 */
export async function benchSecondFolder(files = manyFiles): Promise<Figure[]> {
  const world = await openWorldWithSandbox();
  try {
    const { forge, inside } = world;
    const repository = await adoptRepository(world, makeRepository(join(world.folder, 'app'), heavyFiles(files)));
    const tip = (await baseTip(forge, repository)) ?? '';
    const prepare = async (ownerKey: string): Promise<{ ms: number; how: string }> => {
      let how = '';
      const ms = await timed(async () => {
        const request = { ownerKey, purpose: 'author', branch: ownerKey, startCommit: tip, identity: turing } as const;
        const folder = await createWorkFolder(forge, repository, { ...request, sandbox: inside.sandbox });
        how = mustOk(await prepareWorkFolder(forge, repository, folder, inside)).how;
      });
      return { ms, how };
    };
    const home = join(forge.folders.work, '.set-up', repository.id);
    const first = await prepare('first');
    await forge.turns.run(home, async () => {}); // an agent works meanwhile; the copy is made behind it
    const second = await prepare('second');
    const third = await prepare('third'); // at once: the copy of the second is taken, so it copies for itself
    if (second.how !== 'from-cache' || third.how !== 'from-cache') throw new Error('the set-up was not kept');
    await forge.turns.run(home, async () => {});
    const from = join(forge.folders.work, 'first', 'clone', 'deps');
    const bare = await timed(() => promisify(execFile)('/bin/cp', ['-a', from, join(world.folder, 'copy')]));
    const note = `${files} files, ${Math.round((files * 18) / 1e6)} GB; first folder with its set-up ${Math.round(first.ms)} ms`;
    const baseline = { name: 'cp -a of the dependencies', samples: [bare] };
    const target = { at: 'p50', atMost: 5_000 } as const;
    return [
      figureOf('second work folder, ready', [second.ms], { baseline, target, note }),
      figureOf('a third at the same time', [third.ms], {
        baseline,
        note: 'copies for itself, and is given to its user',
      }),
    ];
  } finally {
    rmSync(world.folder, { recursive: true, force: true });
  }
}

/**
 * Checks of many sessions at once, each as hungry as one core and much memory: throughput against one after another without
 * us, and how much memory they took at most. Scaled to the machine: `sessions` checks of `mib` MiB.
 */
export async function benchManyChecks(sessions = 20, mib = 1_024): Promise<Figure[]> {
  const world = await openWorldWithSandbox();
  try {
    const { forge, inside } = world;
    const check = `b=[b'x' * (1024*1024) for _ in range(${mib})]\nn=0\nfor i in range(3000000): n+=i*i\n`;
    const repository = await adoptRepository(
      world,
      makeRepository(join(world.folder, 'app'), { 'eat.py': check, Makefile: 'check:\n\tpython3 eat.py\n' }),
    );
    const tip = (await baseTip(forge, repository)) ?? '';
    const folders: WorkFolder[] = [];
    for (let n = 0; n < sessions; n += 1) {
      const request = { ownerKey: `c-${n}`, purpose: 'candidate', startCommit: tip, identity: turing } as const;
      folders.push(await createWorkFolder(forge, repository, { ...request, sandbox: inside.sandbox }));
    }
    const cwd = folders[0]!.clone;
    const env = { PATH: '/usr/local/bin:/usr/bin:/bin' }; // the same python as inside
    const runBare = (): Promise<unknown> => promisify(execFile)('/usr/bin/make', ['check'], { cwd, env });
    await runBare();
    // Half before and half after ours, so that what else the machine does hits both alike.
    const runHalf = async (): Promise<void> => {
      for (let n = 0; n < sessions / 2; n += 1) await runBare();
    };
    let serial = await timed(runHalf);
    let most = 0;
    const watch = setInterval(() => (most = Math.max(most, takenMib(forge.folders.work))), 100);
    const ours = await timed(() =>
      Promise.all(
        folders.map(async (folder, n) => {
          const request = { ...inside, key: `bench-${n}`, commit: tip, changedPaths: [] };
          const report = mustOk(await runChecks(forge, repository, folder, request));
          if (!report.allPassed) throw new Error(`check ${n} is red: ${report.results[0]?.tail}`);
        }),
      ),
    );
    clearInterval(watch);
    serial += await timed(runHalf);
    const slots = forge.slots.count;
    const note = `${sessions} checks of ${mib} MiB, ${slots} slots, ${availableParallelism()} cores; target: throughput ≥ 80 % of one after another`;
    return [
      figureOf('checks of many sessions: time for each', [ours / sessions], {
        baseline: { name: 'one after another, without us', samples: [serial / sessions] },
        target: { at: 'p50', atMost: serial / sessions / 0.8 },
        note,
      }),
      figureOf('checks of many sessions: memory at most', [most], {
        unit: 'MiB',
        target: { at: 'p50', atMost: slots * (mib + 64) },
        note: 'resident memory of all processes in the work folders, looked at each 100 ms',
      }),
    ];
  } finally {
    rmSync(world.folder, { recursive: true, force: true });
  }
}

async function openWorldWithSandbox(): Promise<ForgeWorld> {
  const opened = await openSandbox({ mode: 'auto' });
  const world = await openForgeWorld({ keep: true, ...(opened.sandbox ? { sandbox: opened.sandbox } : {}) });
  const inside: InSandbox = world.inside;
  return { ...world, inside };
}

/** A repository whose set-up makes `files` files of dependencies without a network. */
function heavyFiles(files: number): Record<string, string> {
  const make = `import os\nblock = os.urandom(18000)\nfor p in range(${Math.ceil(files / 100)}):\n    d = f"deps/pkg{p}/lib"\n    os.makedirs(d)\n    for f in range(100):\n        open(f"{d}/f{f}.js", "wb").write(block)\n`;
  return {
    'chantier.yml':
      'version: 1\nworkspace: { setup: [[python3, make.py]], cacheKey: [make.py], timeout: 30m }\nchecks: none\n',
    'make.py': make,
    '.gitignore': 'deps/\n',
  };
}

/** Resident memory of every process whose current folder lies below `folder`. */
function takenMib(folder: string): number {
  let sum = 0;
  for (const pid of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      if (!readlinkSync(`/proc/${pid}/cwd`).startsWith(folder)) continue;
      sum += Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0);
    } catch {
      // it has ended, or is somebody else's
    }
  }
  return sum / 1024;
}
