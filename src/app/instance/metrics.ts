import { sumUsage } from '../../spending/index.ts';
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
  const used = await sumUsage(db).execute();
  const total = (name: 'input' | 'output' | 'cached' | 'guessed') =>
    used.reduce((sum, row) => sum + Number(row[name]), 0);
  const reserved = await db
    .selectFrom('budget_reservation')
    .select((eb) => eb.fn.sum('tokens').as('tokens'))
    .executeTakeFirstOrThrow();
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
    {
      name: 'chantier_tokens_total',
      help: 'Tokens used, as agents say: in (cached ones included), out, cached, and guessed where nothing was said.',
      samples: (['input', 'output', 'cached', 'guessed'] as const).map((kind) => ({
        labels: { kind },
        value: total(kind),
      })),
    },
    {
      name: 'chantier_cost_dollars_total',
      help: 'Money used, by where the amount comes from; what a plan pays and what has no price is not in it.',
      samples: used
        .filter((row) => row.cost_source === 'reported' || row.cost_source === 'priced')
        .map((row) => ({ labels: { source: row.cost_source }, value: Number(row.micros) / 1_000_000 })),
    },
    {
      name: 'chantier_reserved_tokens',
      help: 'Tokens that open and next turns hold of their budgets.',
      samples: [{ value: Number(reserved.tokens ?? 0) }],
    },
    { name: 'chantier_halted', help: '1 after stop --all.', samples: [{ value: ctx.halt.isOn() ? 1 : 0 }] },
  ];
}
