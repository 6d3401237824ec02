import { mustOk, systemActor } from '../kernel/index.ts';
import type { Store } from '../store/index.ts';
import { addJob } from './add-job.ts';
import { addTasks } from './add-tasks.ts';
import { createProject } from './create-project.ts';
import { readyTasks } from './ready-tasks.ts';

/** Figures of one measurement, in milliseconds. */
export interface BenchFigures {
  name: string;
  tasks: number;
  p50: number;
  p95: number;
  runs: number;
}

const actor = systemActor('bench');

/**
 * Measures `ready(50)` on a fresh store with `tasks` tasks and twice as many edges, in jobs of 1,000, half of the tasks
 * blocked, and the same query written by hand without this code around it (the baseline).
 */
export async function benchReady(store: Store, tasks: number, runs = 200): Promise<BenchFigures[]> {
  const projectId = await newProject(store, `bench-ready-${tasks}`);
  for (let part = 0; part * 1000 < tasks; part++) {
    await store.tx(async (tx) => {
      const job = await addJob(tx, {
        projectId,
        actor,
        payload: { codename: `part-${part}`, title: 'Part', tasks: graph(Math.min(1000, tasks - part * 1000)) },
      });
      return mustOk(job).job.id;
    });
  }
  const ready = await measure(runs, () => readyTasks(store.read, { limit: 50 }));
  const baseline = await measure(runs, () =>
    store.read
      .selectFrom('task')
      .selectAll()
      .where('status', '=', 'todo')
      .where('open_blockers', '=', 0)
      .where('held', '=', 0)
      .limit(50)
      .execute(),
  );
  return [
    { name: 'ledger.ready(50)', tasks, ...ready },
    { name: 'ledger.ready(50) baseline: unordered query', tasks, ...baseline },
  ];
}

/** Measures the import of `tasks` tasks and twice as many edges in one call; target: 1,000 and 2,000 in 1 s. */
export async function benchImport(store: Store, tasks = 1000, runs = 3): Promise<BenchFigures> {
  const projectId = await newProject(store, 'bench-import');
  const jobs: string[] = [];
  for (let run = 0; run < runs; run++) {
    const payload = { codename: `import-${run}`, title: 'Import', tasks: [{ title: 'First' }] };
    jobs.push(await store.tx(async (tx) => mustOk(await addJob(tx, { projectId, actor, payload })).job.id));
  }
  const list = graph(tasks);
  const figures = await measure(runs, async () => {
    const jobId = jobs.pop() ?? '';
    await store.tx(async (tx) => mustOk(await addTasks(tx, { jobId, tasks: list, actor, origin: 'import' })));
  });
  return { name: 'ledger.import', tasks, ...figures };
}

/** Tasks of which the second half waits for four of the first half each: on average two edges a task. */
function graph(tasks: number): { title: string; tokens_estimated: number; blocked_by?: number[] }[] {
  const half = Math.ceil(tasks / 2);
  return Array.from({ length: tasks }, (_, index) => {
    const task = { title: `Task ${index + 1}`, tokens_estimated: 1000 };
    if (index < half) return task;
    const blockers = [0, 1, 2, 3].map((step) => ((index * 7 + step * 13) % half) + 1);
    return { ...task, blocked_by: [...new Set(blockers)] };
  });
}

async function newProject(store: Store, codename: string): Promise<string> {
  const payload = {
    codename,
    title: 'Bench',
    first_job: { codename: 'first-job', title: 'First' },
    first_task: { title: 'First' },
  };
  const made = await store.tx(async (tx) => mustOk(await createProject(tx, { payload, actor })));
  return made.project_id ?? '';
}

async function measure(runs: number, fn: () => Promise<unknown>): Promise<{ p50: number; p95: number; runs: number }> {
  const times: number[] = [];
  for (let run = 0; run < runs; run++) {
    const start = performance.now();
    await fn();
    times.push(performance.now() - start);
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0;
  return { p50: at(0.5), p95: at(0.95), runs };
}
