import { mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';

import type { SessionContext } from '../ports.ts';

/** A gap between two looks from this length on is time in which nobody looked (ms), as for the pulse of an agent. */
const absenceMs = 2_000;

/** Keeps time in which nobody supervised from counting against agents. */
export interface Absences {
  /** At the start, before anything is judged: what passed since the last server looked does not count. */
  begin(): Promise<void>;
  /** With every tick, and before time ends anything: a machine that slept, a server that was held up, a clock that was set. Resolves when all that was missed is moved. */
  look(): Promise<void>;
  /** Notes for the next server that somebody looked now. */
  note(): Promise<void>;
}

/**
 * The timers of a session are times in its row (S-48). While the machine sleeps, the server is down or the clock is set ahead,
 * these times grow old without anybody having looked, so they are moved by what was missed; set back, times that lie in the
 * future become now. Moved in the store, so that it holds for the next server too. Source: decision 4, field cases 67 and 73.
 */
export function createAbsences(ctx: SessionContext, options: { sessionsFolder: string; tickMs: number }): Absences {
  const { clock } = ctx.store;
  const folder = dirname(options.sessionsFolder);
  const file = join(folder, 'last-look');
  let lastLook: number | undefined;
  /** Whoever looks while another one moves the times waits for it, else it would judge old ones. */
  let moving: Promise<void> = Promise.resolve();

  async function missed(from: number, to: number): Promise<void> {
    if (to < from) return takeBack(ctx, to);
    if (to - from >= absenceMs + options.tickMs) await moveOn(ctx, from, to);
  }

  /** A note that a full disk does not take costs precision and nothing else. */
  async function note(): Promise<void> {
    try {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      await writeFile(`${file}.new`, String(clock.now()), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch {
      // The next server counts from the last one that could be written.
    }
  }

  return {
    async begin() {
      const noted = Number(await readFile(file, 'utf8').catch(() => Number.NaN));
      lastLook = clock.now();
      if (noted > 0) await missed(noted, lastLook);
      await note();
    },
    look() {
      const from = lastLook ?? clock.now();
      const to = clock.now();
      lastLook = to;
      moving = moving.catch(() => {}).then(() => missed(from, to)); // who began the other one hears of its failure
      return moving;
    },
    note,
  };
}

/** Once an agent lives, how it started is history and stays as it was. */
const startColumns = new Set<string>(['launched_at', 'peer_seen_at']);
const timerColumns = ['launched_at', 'peer_seen_at', 'unresponsive_since', 'stalled_since'] as const;

/** Moves what had begun before `from` by the whole gap; what began within it begins now. */
async function moveOn(ctx: SessionContext, from: number, to: number): Promise<void> {
  await ctx.store.tx(async (tx) => {
    for (const column of timerColumns)
      await tx.db
        .updateTable('session')
        .set((eb) => ({
          [column]: eb
            .case()
            .when(column, '<=', from)
            .then(eb(column, '+', to - from))
            .else(to)
            .end(),
        }))
        .where('node_id', '=', ctx.nodeId)
        .where('process', 'in', ['launching', 'live'])
        .where(column, 'is not', null)
        .$if(startColumns.has(column), (query) => query.where('live_at', 'is', null))
        .execute();
  });
}

/** The clock was set back: no timer waits for a time that was. */
async function takeBack(ctx: SessionContext, now: number): Promise<void> {
  await ctx.store.tx(async (tx) => {
    for (const column of timerColumns)
      await tx.db
        .updateTable('session')
        .set({ [column]: now })
        .where('node_id', '=', ctx.nodeId)
        .where('process', 'in', ['launching', 'live'])
        .where(column, '>', now)
        .execute();
  });
}
