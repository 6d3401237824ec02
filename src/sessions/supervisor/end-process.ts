import { Fault } from '../../kernel/index.ts';
import { emitOf } from '../events.ts';
import { generationFolder, openGeneration, type StopOptions, type StopReport } from '../host/index.ts';
import type { SessionContext } from '../ports.ts';
import { relaunch } from '../relaunch.ts';
import { toSession } from '../session.ts';
import { lockSession, type SessionRow } from '../session-store.ts';
import { isTerminal } from '../states.ts';
import { sessionsTopic } from '../transition.ts';
import type { Attached } from './attached.ts';
import { supervisorActor } from './crash.ts';
import { readLaunchRecord, removeLaunchFiles } from './launch-record.ts';

/** How a process is being ended. */
export interface EndProcessOptions {
  sessionsFolder: string;
  /** `stop --all`: every step shortened, so that all are gone within 5 s. */
  hurried: boolean;
  /** Called when the processes are gone, before the store says so: nobody may hold what the store calls ended (S-46). */
  letGo: () => void;
}

const hurriedSteps: StopOptions & { cancelGraceMs: number } = {
  cancelGraceMs: 300,
  endOfInputGraceMs: 700,
  termGraceMs: 1_000,
  killGraceMs: 700,
};

/** Whether an author who reported its work done may still finish its turn (it waits for the answer of that very call). */
export function mayFinishTurn(ctx: SessionContext, row: SessionRow, attached: Attached | undefined): boolean {
  if (row.state !== 'DONE' || !attached || attached.exited) return false;
  if (attached.link.snapshot().turn === 'idle') return false;
  return ctx.store.clock.now() - (row.ended_at ?? 0) < ctx.settings().doneGraceMs;
}

/**
 * Ends every process of a generation in the order of decision 5. That it was wanted stands in the store before the first
 * signal; afterwards the row says `ended`, and a session that is to go on (limit over, handed back) gets its next generation.
 */
export async function endProcess(
  ctx: SessionContext,
  row: SessionRow,
  attached: Attached | undefined,
  options: EndProcessOptions,
): Promise<StopReport | undefined> {
  await ctx.store.tx((tx) =>
    tx.db
      .updateTable('session')
      .set({ stopping_at: tx.now })
      .where('id', '=', row.id)
      .where('stopping_at', 'is', null)
      .execute(),
  );
  const report = await stopProcesses(ctx, row, attached, options);
  options.letGo();
  await ctx.store.tx(async (tx) => {
    const session = await lockSession(tx, row.id);
    if (!session || session.process !== 'ending' || session.generation !== row.generation) return;
    await tx.db
      .updateTable('session')
      .set({ process: 'ended', turn_open: 0, unresponsive: 0, stalled: 0, updated_at: tx.now })
      .where('id', '=', session.id)
      .execute();
    await emitOf(tx, session, 'session.process-ended', supervisorActor, {
      how: report?.endedBy ?? 'never-started',
      duration_ms: Math.round(report?.durationMs ?? 0),
      ...(attached?.exited?.code === undefined ? {} : { exit_code: attached.exited.code }),
    });
    if (report && report.swept > 0)
      await emitOf(tx, session, 'session.swept', supervisorActor, { count: report.swept });
    if (report && report.survivors.length > 0)
      await emitOf(tx, session, 'session.alert', supervisorActor, { alert: 'survivors', pids: report.survivors });
    if (session.state === 'RUNNING' || session.state === 'ESCALATED') await relaunch(tx, session);
    tx.wake(sessionsTopic, session.id);
  });
  await removeLaunchFiles(options.sessionsFolder, row.id, row.generation);
  return report;
}

async function stopProcesses(
  ctx: SessionContext,
  row: SessionRow,
  attached: Attached | undefined,
  { sessionsFolder, hurried }: EndProcessOptions,
): Promise<StopReport | undefined> {
  const cancelGraceMs = ctx.settings().cancelGraceMs;
  if (attached) {
    const steps = hurried ? hurriedSteps : { ...attached.profile.stop, cancelGraceMs };
    const report = await attached.link.stop(steps);
    await attached.link.detach();
    return report;
  }
  const record = await readLaunchRecord(sessionsFolder, row.id, row.generation);
  const folder = generationFolder(sessionsFolder, row.id, row.generation);
  const generation = await openGeneration(folder, { clock: ctx.store.clock });
  if (!generation.ok && generation.refusal.code === 'generation_newer')
    throw new Fault(generation.refusal.code, generation.refusal.message);
  if (!generation.ok) return undefined;
  try {
    return await generation.value.stop(hurried ? hurriedSteps : (record?.profile.stop ?? {}));
  } finally {
    await generation.value.close();
  }
}

/** After everything of an ended session is gone: `ports.afterEnded`, at least once, then never again. */
export async function windUp(ctx: SessionContext, row: SessionRow): Promise<void> {
  if (!isTerminal(row.state) || row.wound_up_at !== null) return;
  await ctx.ports.afterEnded(toSession(row), { state: row.state, reason: row.reason ?? '' });
  await ctx.store.tx((tx) =>
    tx.db.updateTable('session').set({ wound_up_at: tx.now }).where('id', '=', row.id).execute(),
  );
}
