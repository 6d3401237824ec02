import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { node } from '../e2e/built-package.ts';
import { createInstance, entry } from '../e2e/instance.ts';
import { type Figure, figureOf, timed } from './figure.ts';

/** A read verb of the bundled CLI with the server up, against Node that does nothing: wall and processor time. */
export async function benchCliStart(): Promise<Figure[]> {
  const instance = createInstance();
  try {
    await instance.up();
    const ours = { wall: [] as number[], cpu: [] as number[] };
    const bare = { wall: [] as number[], cpu: [] as number[] };
    for (let n = 0; n < 30; n += 1) {
      await runOnce([entry, 'status', '--json'], instance.env, ours);
      await runOnce(['-e', '0'], instance.env, bare);
    }
    const baseline = (samples: number[]): { name: string; samples: number[] } => ({ name: 'node -e 0', samples });
    return [
      figureOf('cli: status, wall', ours.wall, { baseline: baseline(bare.wall), target: { at: 'p50', atMost: 150 } }),
      figureOf('cli: status, CPU', ours.cpu, { baseline: baseline(bare.cpu), target: { at: 'p50', atMost: 80 } }),
    ];
  } finally {
    await instance.dispose();
  }
}

/** From the start of the server to its readiness, after a clean stop, against Node that does nothing. */
export async function benchServerStart(): Promise<Figure[]> {
  const instance = createInstance();
  try {
    await instance.up();
    const ours: number[] = [];
    const bare = { wall: [] as number[], cpu: [] as number[] };
    for (let n = 0; n < 10; n += 1) {
      await instance.kill('SIGTERM');
      ours.push(await timed(() => instance.up()));
      await runOnce(['-e', '0'], instance.env, bare);
    }
    const parts = {
      baseline: { name: 'node -e 0', samples: bare.wall },
      target: { at: 'p50', atMost: 500 },
      note: 'looked at every 60 ms',
    } as const;
    return [figureOf('server: ready after a clean stop', ours, parts)];
  } finally {
    await instance.dispose();
  }
}

/** Runs Node with `args` to its end; adds wall and processor time, in ms. */
async function runOnce(
  args: readonly string[],
  env: NodeJS.ProcessEnv,
  into: { wall: number[]; cpu: number[] },
): Promise<void> {
  const preload = ['--require', join(import.meta.dirname, 'report-cpu.cjs')];
  const began = performance.now();
  const child = spawn(node, ['--disable-warning=ExperimentalWarning', ...preload, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'ignore', 'pipe'],
  });
  const micros = text(child.stdio[3] as NodeJS.ReadableStream);
  const [code] = (await once(child, 'exit')) as [number];
  into.wall.push(performance.now() - began);
  if (code !== 0) throw new Error(`node ${args.join(' ')} exited ${code}`);
  into.cpu.push(Number(await micros) / 1_000);
}
