import type { InstanceUseCases } from '../app.ts';
import type { AppContext } from '../context.ts';

/** Gauges for Prometheus: counts only, no names of people or texts. */
export async function readMetrics(ctx: AppContext): ReturnType<InstanceUseCases['metrics']> {
  const db = ctx.store.read;
  const sessions = await db
    .selectFrom('session')
    .select(['state', (eb) => eb.fn.countAll().as('count')])
    .groupBy('state')
    .execute();
  const tasks = await db
    .selectFrom('task')
    .select(['status', (eb) => eb.fn.countAll().as('count')])
    .groupBy('status')
    .execute();
  const decisions = await db
    .selectFrom('decision_request')
    .select(['kind', (eb) => eb.fn.countAll().as('count')])
    .where('state', '=', 'open')
    .groupBy('kind')
    .execute();
  const effects = await db
    .selectFrom('effect')
    .select(['state', (eb) => eb.fn.countAll().as('count')])
    .groupBy('state')
    .execute();
  const samples = <K extends string>(rows: readonly ({ count: unknown } & Record<K, string>)[], label: K) =>
    rows.map((row) => ({ labels: { [label]: row[label] }, value: Number(row.count) }));
  return [
    { name: 'chantier_sessions', help: 'Sessions by state.', samples: samples(sessions, 'state') },
    { name: 'chantier_tasks', help: 'Tasks by status.', samples: samples(tasks, 'status') },
    {
      name: 'chantier_open_decisions',
      help: 'Decisions that wait for a human, by kind.',
      samples: samples(decisions, 'kind'),
    },
    { name: 'chantier_effects', help: 'Outside effects by state.', samples: samples(effects, 'state') },
    {
      name: 'chantier_sandbox_holds',
      help: '1 when the sandbox holds.',
      samples: [{ value: ctx.barrier.report.holds ? 1 : 0 }],
    },
    { name: 'chantier_halted', help: '1 after stop --all.', samples: [{ value: ctx.halt.isOn() ? 1 : 0 }] },
  ];
}
