import { join } from 'node:path';

import { packageFolder } from '../e2e/built-package.ts';
import { createInstance, type Instance } from '../e2e/instance.ts';
import { followEvents, type Following } from './follow-events.ts';

/** A server with sessions that all work on a task of their own, and an SSE client. */
export interface BenchCrew {
  instance: Instance;
  events: Following;
  /** Adds a project with `count` tasks, for which the dispatcher starts sessions. */
  addTasks(count: number): Promise<void>;
  dispose(): Promise<void>;
}

/**
 * Starts a server for up to `maxActive` sessions of an agent that asks `count` questions and rests (0: works on for good; no more
 * than 64 of those), or does what `script` does so often.
 */
export async function openBenchCrew(maxActive: number, count: number, script = 'asks-often'): Promise<BenchCrew> {
  const instance = createInstance({ CHANTIER_MAX_ACTIVE: String(Math.min(64, maxActive)) });
  try {
    await instance.up();
    await instance.init();
    // As many open sessions as are wanted: those that rest do not count.
    await instance.must(['config', 'set', 'sessions.quotaCounts', 'working'], { proof: true });
    const scripts = [`test/bench/${script}.mjs`, 'examples/agents/scripted-agent.mjs'];
    const command = [...scripts.map((file) => join(packageFolder, file)), String(count)];
    await instance.addAgent('turing', 'claude', 'author', command);
    const events = await followEvents(instance);
    return {
      instance,
      events,
      addTasks: (tasks) => addTasks(instance, tasks),
      async dispose() {
        events.stop();
        await instance.dispose();
      },
    };
  } catch (error) {
    await instance.dispose();
    throw error;
  }
}

async function addTasks(instance: Instance, count: number): Promise<void> {
  const { status, body } = await instance.send('POST', '/api/projects', {
    codename: `bench-${count}`,
    title: 'Bench',
    firstJob: { codename: 'first-job', title: 'First' },
    firstTasks: Array.from({ length: count }, (_, index) => ({ title: `Task ${index + 1}` })),
  });
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
}
