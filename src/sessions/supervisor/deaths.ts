import type { SessionContext } from '../ports.ts';
import { generationFolder, openGeneration } from '../host/index.ts';
import { findSession } from '../session-store.ts';
import { emitOf } from '../events.ts';
import type { Attached, AttachedSessions } from './attached.ts';
import { failSession, supervisorActor } from './crash.ts';

/** Deaths that come within this time are looked at together (ms); short beside the 1 s of decision 4. */
const passMs = 100;
/** Deaths within this time of the first count together (ms). */
const spellMs = 1_000;
/** From this many living sessions on, more than half of them dying at once is taken for a failed probe. */
const fewestForMassDeath = 5;
/** How long after a suspected mass death everything is looked at again (ms). */
const secondLookAfterMs = 1_000;

/** Judges the ends of processes: one by one, but for the breaker against a mass death (decision 4). */
export interface Deaths {
  /** The process of `attached` has ended, as its link says. */
  note(attached: Attached): void;
  /** Judges what could not be judged while the broker was away. */
  resume(): void;
  stop(): void;
}

export function createDeaths(
  ctx: SessionContext,
  sessionsFolder: string,
  sessions: AttachedSessions,
  hooks: {
    onFault: (error: unknown, sessionId: string) => void;
    poke: (sessionId: string) => void;
    /** False while the broker cannot be reached: then nothing becomes CRASHED or START_FAILED (S-53). */
    mayJudge: () => boolean;
  },
): Deaths {
  let dead: Attached[] = [];
  /** Deaths that count together as one mass death, and of how many sessions: those that have died are let go one by one. */
  let spell = { beganAt: -Infinity, held: 0, deaths: 0, isTold: false };
  let timer: NodeJS.Timeout | undefined;
  const judged = new WeakSet<Attached>();

  async function judgePass(): Promise<void> {
    timer = undefined;
    if (!hooks.mayJudge()) return;
    const pass = dead;
    dead = [];
    const isMass = spell.held >= fewestForMassDeath && spell.deaths * 2 > spell.held;
    if (isMass && !spell.isTold) {
      spell.isTold = true;
      await alert(ctx, pass, spell.deaths);
    }
    const probed = isMass ? pass.filter((each) => each.exited?.cause === 'gone') : [];
    const sure = pass.filter((each) => !probed.includes(each) && !judged.has(each));
    await Promise.all(sure.map((each) => end(each)));
    if (probed.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, secondLookAfterMs));
    await Promise.all(probed.map(lookAgain));
  }

  async function end(attached: Attached): Promise<void> {
    judged.add(attached);
    const { sessionId, generation, exited } = attached;
    try {
      const reason =
        exited?.cause === 'never-started' ? 'no_process' : exited?.cause === 'rebooted' ? 'rebooted' : 'exited';
      await ctx.store.tx((tx) => failSession(tx, ctx, sessionId, generation, reason));
    } catch (error) {
      hooks.onFault(error, sessionId);
      setTimeout(() => void end(attached), secondLookAfterMs).unref();
    }
    hooks.poke(sessionId);
  }

  async function lookAgain(attached: Attached): Promise<void> {
    const folder = generationFolder(sessionsFolder, attached.sessionId, attached.generation);
    const opened = await openGeneration(folder, { clock: ctx.store.clock });
    const isAlive = opened.ok && opened.value.look().phase === 'running';
    if (opened.ok) await opened.value.close();
    if (!isAlive) return end(attached);
    // It lives after all: the link that gave it up is replaced by a new one.
    sessions.delete(attached.sessionId);
    await attached.link.detach();
    hooks.poke(attached.sessionId);
  }

  function schedule(about: Attached): void {
    timer ??= setTimeout(
      () => void judgePass().catch((error: unknown) => hooks.onFault(error, about.sessionId)),
      dead.length > 1 || sessions.size >= fewestForMassDeath ? passMs : 0,
    );
  }

  return {
    note(attached) {
      const now = ctx.store.clock.monotonic();
      if (now - spell.beganAt > spellMs) spell = { beganAt: now, held: sessions.size, deaths: 0, isTold: false };
      spell.deaths += 1;
      dead.push(attached);
      schedule(attached);
      // An exit status was written by the wrapper itself: that is no probe that could have failed, and need not wait for others.
      if (attached.exited?.cause === 'exit-status' && hooks.mayJudge()) void end(attached);
    },
    resume() {
      const [first] = dead;
      if (first) schedule(first);
    },
    stop() {
      clearTimeout(timer);
    },
  };
}

async function alert(ctx: SessionContext, pass: readonly Attached[], count: number): Promise<void> {
  const first = pass[0];
  const row = first && (await findSession(ctx.store.read, first.sessionId));
  if (!row) return;
  await ctx.store.tx((tx) => emitOf(tx, row, 'session.alert', supervisorActor, { alert: 'mass_death', count }));
}
