import { readFileSync } from 'node:fs';

import { openBenchCrew } from './bench-crew.ts';
import { type Figure, figureOf } from './figure.ts';

const pieces = 130;

/** What 130 MB through one journal cost: time until the last byte has been read, and the server's memory meanwhile. */
export async function benchFlood(): Promise<Figure[]> {
  const { instance, events, addTasks, dispose } = await openBenchCrew(1, pieces, 'floods-once');
  const pid = instance.server().pid!;
  const before = residentMib(pid);
  let most = before;
  const sampler = setInterval(() => (most = Math.max(most, residentMib(pid))), 50);
  try {
    await addTasks(1);
    const startedAt = await instance.until('the agent', async () => {
      const [session] = await list(instance);
      return session?.state === 'RUNNING' && performance.now();
    });
    await instance.until(
      'the end of the flood',
      async () => events.heard.some(({ kind }) => kind === 'permission.requested'),
      300_000,
    );
    return [
      figureOf('130 MB through one journal', [performance.now() - startedAt], {
        note: 'from the agent seen to the request behind them',
      }),
      figureOf('130 MB through one journal: server memory, most', [most], {
        unit: 'MiB',
        note: `${Math.round(before)} before`,
      }),
    ];
  } finally {
    clearInterval(sampler);
    await dispose();
  }
}

async function list(instance: { get(path: string): Promise<unknown> }): Promise<{ state: string }[]> {
  return ((await instance.get('/api/sessions?limit=5&living=true')) as { items: { state: string }[] }).items;
}

function residentMib(pid: number): number {
  return Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1024;
}
