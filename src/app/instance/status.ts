import { toRfc3339 } from '../../kernel/index.ts';
import { readDisk } from './disk.ts';
import { phaseOf } from './phase-of.ts';
import { readyTasks } from '../../ledger/index.ts';
import { countActive, readLimitedAccounts } from '../../sessions/index.ts';
import type { SandboxView, StatusView } from '../../wire/index.ts';
import type { AppContext, Barrier } from '../context.ts';
import { readChannels } from '../notify/channel-views.ts';
import { readRetries } from '../sessions/read-failure.ts';
import { readSessionViews } from '../sessions/views.ts';
import { readWatched } from '../watched/use-cases.ts';
import { readDay } from '../spending/views.ts';

/** The one status of the instance for every surface (decision 12 of sessions). */
export async function readInstanceStatus(ctx: AppContext, workKey?: string): Promise<StatusView> {
  const db = ctx.store.read;
  const settings = ctx.sessions.settings();
  const open = await db
    .selectFrom('decision_request')
    .select((eb) => eb.fn.countAll().as('count'))
    .where('state', '=', 'open')
    .executeTakeFirstOrThrow();
  const ready = await readyTasks(db, { limit: 1000 });
  return {
    version: ctx.version,
    sandbox: sandboxView(ctx.barrier),
    phase: phaseOf(ctx),
    broker: ctx.broker.status(),
    halted: ctx.halt.isOn(),
    quota: {
      active: await countActive(db, 'author'),
      max: settings.maxActive,
      reviewers: await countActive(db, 'reviewer'),
      maxReviewers: settings.maxReviewers,
    },
    machine: machineView(ctx),
    today: await readDay(ctx),
    openDecisions: Number(open.count),
    readyTasks: ready.length,
    sessions: await readSessionViews(ctx, workKey === undefined ? {} : { workKey, includeEnded: true, limit: 1 }),
    retries: await readRetries(ctx),
    disk: await readDisk(ctx),
    watched: workKey === undefined ? await readWatched(ctx) : [],
    channels: await readChannels(ctx),
    denied: await readDenials(ctx),
    limits: await readLimits(ctx),
  };
}

function machineView({ machine, forge }: AppContext): StatusView['machine'] {
  const { count: max, inUse, waiting } = forge.slots;
  const { isHeld, reason = null, goesOn = null, memoryPercent = null, ioPercent = null, freeBytes } = machine.look();
  return { slots: { inUse, max, waiting }, isHeld, reason, goesOn, memoryPercent, ioPercent, freeBytes };
}

/** What every surface says about the wall (design section 4). */
export function sandboxView({ report, sandbox }: Barrier): SandboxView {
  if (report.holds)
    return {
      driver: report.driver,
      holds: true,
      message: `The sandbox holds (${report.driver}${report.version ? ` ${report.version}` : ''}).`,
    };
  if (sandbox?.driver === 'none') {
    return {
      driver: 'none',
      holds: false,
      message:
        'Agents run without a sandbox because an operator chose `none`: the promise "no agent can decide" does not hold.',
    };
  }
  const cure = report.cure ? ` ${report.cure}` : '';
  return {
    driver: report.driver,
    holds: false,
    message: `The sandbox does not hold: ${report.cause ?? 'the probe failed'}.${cure} No agent starts.`,
  };
}

async function readLimits(ctx: AppContext): Promise<StatusView['limits']> {
  const limits = await readLimitedAccounts(ctx.store.read, ctx.store.clock.now());
  return limits.map(({ until, ...limit }) => ({ ...limit, until: until === null ? null : toRfc3339(until) }));
}

async function readDenials(ctx: AppContext): Promise<StatusView['denied']> {
  if (!ctx.barrier.wall) return [];
  const wall = await ctx.barrier.wall.wall();
  const counts = new Map<string, number>();
  for (const { host, count } of wall.denials()) counts.set(host, (counts.get(host) ?? 0) + count);
  return [...counts].map(([host, count]) => ({ host, count })).toSorted((a, b) => b.count - a.count);
}
