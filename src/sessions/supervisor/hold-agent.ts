import { Fault } from '../../kernel/index.ts';
import { type AgentLink, driverFor, type DriverSink } from '../drivers/index.ts';
import { type Generation, JournalFreer } from '../host/index.ts';
import type { SessionRow } from '../session-store.ts';
import { applyBatch, isChatter } from './apply-events.ts';
import { applyFlag } from './apply-liveness.ts';
import type { Attached } from './attached.ts';
import { failSession } from './crash.ts';
import type { LaunchRecord } from './launch-record.ts';
import type { SupervisorState } from './supervisor-state.ts';

/** So often the store may refuse a batch before its session is ended; a second lies between two tries. */
const maxRefusals = 5;
/** Batches of mere chatter are written at most this often (ms). */
const chatterMs = 1_000;
/**
 * How much earlier than the setting says two pings without answer raise the flag (ms): the hang may come right after an answer,
 * so up to a second passes until the next ping, and twice a quarter until somebody looks. Else 3 s become 4.5.
 */
const pingAllowanceMs = 1_500;

/** Takes hold of a generation's agent, just started or found alive, and marks its process as live. */
export async function holdAgent(
  state: SupervisorState,
  row: SessionRow,
  generation: Generation,
  record: LaunchRecord,
): Promise<void> {
  const held = Promise.withResolvers<Attached>();
  // Nobody waits for it unless the link has news before it is held.
  held.promise.catch(() => undefined);
  let link: AgentLink;
  try {
    link = await attach(state, row, generation, record, held.promise);
  } catch (error) {
    held.reject(error);
    await generation.close();
    throw error;
  }
  const attached: Attached = {
    sessionId: row.id,
    generation: row.generation,
    profile: record.profile,
    link,
    freer: new JournalFreer(generation),
  };
  state.sessions.set(row.id, attached);
  held.resolve(attached);
  // One that was live before needs no word in the store: with a hundred of them each transaction counts.
  if (row.process === 'live') return state.loop.poke(row.id);
  await state.ctx.store.tx((tx) =>
    tx.db
      .updateTable('session')
      .set({ process: 'live' })
      .where('id', '=', row.id)
      .where('generation', '=', row.generation)
      .where('process', '=', 'launching')
      .execute(),
  );
  state.loop.poke(row.id);
}

async function attach(
  state: SupervisorState,
  row: SessionRow,
  generation: Generation,
  record: LaunchRecord,
  held: Promise<Attached>,
): Promise<AgentLink> {
  const { profile, cwd, mcpServers, conversationId } = record;
  const { unresponsiveAfterMs, stalledAfterMs } = state.ctx.settings();
  return driverFor(profile).attach(
    generation,
    {
      profile,
      cwd,
      mcpServers,
      ...(conversationId === null ? {} : { resume: { conversationId } }),
      consumedTo: row.journal_offset,
      clock: state.ctx.store.clock,
      raised: { isUnresponsive: row.unresponsive === 1, isStalled: row.stalled === 1 },
      pace: { unresponsiveAfterMs: unresponsiveAfterMs - pingAllowanceMs, stalledAfterMs, ...state.pace },
    },
    sinkOf(state, row, generation, held),
  );
}

/** Where the agent's news go: batches into the store with their offset, flags into the row, its end to the judge of deaths. */
function sinkOf(
  { ctx, deaths, onFault }: SupervisorState,
  row: SessionRow,
  generation: Generation,
  held: Promise<Attached>,
): DriverSink {
  const at = { sessionId: row.id, generation: row.generation };
  let writtenAt = Number.NEGATIVE_INFINITY;
  let refusals = 0;
  return {
    async apply(batch) {
      const now = performance.now();
      if (isChatter(batch) && now - writtenAt < chatterMs) return;
      try {
        await applyBatch(ctx, at, batch, generation.record());
      } catch (error) {
        // An outage passes. What the store refuses time and again never passes, and behind it would wait even the agent's death.
        const isPassing = error instanceof Fault && error.retryable;
        refusals = isPassing ? refusals : refusals + 1;
        if (refusals < maxRefusals) throw error;
        await ctx.store.tx((tx) => failSession(tx, ctx, at.sessionId, at.generation, 'unstorable_output'));
        refusals = 0;
        throw error;
      }
      refusals = 0;
      writtenAt = now;
    },
    async liveness(event) {
      if (event.kind !== 'exited') return applyFlag(ctx, at, event);
      const attached = await held;
      attached.exited = event;
      deaths.note(attached);
    },
    fault: (error) => onFault(error, row.id),
  };
}
