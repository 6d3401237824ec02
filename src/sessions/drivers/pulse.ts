import type { Clock } from '../../kernel/index.ts';
import type { LinkPace } from './driver.ts';
import type { LivenessEvent } from './driver-event.ts';

/** A gap between two looks that means that we, not the agent, were away: suspended or busy (decision 4). */
const ownAbsenceMs = 2_000;

/** What the turn is doing, as far as probing goes. */
export interface PulseContext {
  isOpen: boolean;
  isTurnOpen: boolean;
  isAsking: boolean;
}

/** Flags that an earlier server raised. */
export interface RaisedFlags {
  isUnresponsive?: boolean;
  isStalled?: boolean;
}

/** Judges from pings and silence whether an agent answers and gets on. Flags only: no probe ever ends a session. */
export class Pulse {
  readonly #clock: Clock;
  readonly #pace: LinkPace;
  #unanswered: number[] = [];
  #lastPingAt: number;
  #lastHeardAt: number;
  #lastProgressAt: number;
  #lastLookAt: number;
  #hasAnswered: boolean;
  /** Whether the agent was heard since it was found unresponsive. */
  #isHeard = false;
  isUnresponsive: boolean;
  isStalled: boolean;

  /**
   * `hasAnswered`: whether a ping was answered before this server took over; `raised`: the flags that the last server left
   * raised, which hold until the agent itself lowers them (S-48).
   */
  constructor(clock: Clock, pace: LinkPace, hasAnswered = false, raised: RaisedFlags = {}) {
    this.#clock = clock;
    this.#pace = pace;
    this.#hasAnswered = hasAnswered;
    this.isUnresponsive = raised.isUnresponsive ?? false;
    this.isStalled = raised.isStalled ?? false;
    const now = clock.monotonic();
    // The first ping goes out as soon as the conversation is open.
    this.#lastPingAt = -Infinity;
    this.#lastHeardAt = now;
    this.#lastProgressAt = this.isStalled ? now - pace.stalledAfterMs : now;
    this.#lastLookAt = now;
  }

  /** A line came from the agent; a ping's answer is a sign of life, everything else progress too. */
  heard(isPingAnswer: boolean): void {
    const now = this.#clock.monotonic();
    this.#lastHeardAt = now;
    this.#isHeard = true;
    if (!isPingAnswer) {
      this.#lastProgressAt = now;
      return;
    }
    this.#hasAnswered = true;
    this.#unanswered.shift();
  }

  /** We did something that starts the silence anew: a prompt, an answer. */
  nudged(): void {
    this.#lastProgressAt = this.#clock.monotonic();
  }

  pinged(): void {
    this.#lastPingAt = this.#clock.monotonic();
    this.#unanswered.push(this.#lastPingAt);
  }

  /** Whether a ping is to be sent now. An unresponsive agent gets no more: two are waiting for it already. */
  isPingDue(context: PulseContext): boolean {
    return this.#clock.monotonic() >= this.#nextPingAt(context);
  }

  /** When to look again at the latest (monotonic ms). */
  nextDueAt(context: PulseContext): number {
    const silence = (this.#oldestUnheard() ?? Infinity) + this.#pace.unresponsiveAfterMs;
    const stall = context.isTurnOpen && !this.isStalled ? this.#lastProgressAt + this.#pace.stalledAfterMs : Infinity;
    return Math.min(this.#nextPingAt(context), this.isUnresponsive ? Infinity : silence, stall);
  }

  /** The flags that changed since the last call. */
  look(context: PulseContext): LivenessEvent[] {
    const now = this.#clock.monotonic();
    this.#forgiveOwnAbsence(now, context);
    return [...this.#lookForAnswers(now), ...this.#lookForProgress(now, context)];
  }

  #nextPingAt({ isOpen, isTurnOpen }: PulseContext): number {
    if (!isOpen || (this.isUnresponsive && this.#unanswered.length >= 2)) return Infinity;
    const isPressing = isTurnOpen || (this.#unanswered.length > 0 && this.#hasAnswered);
    return this.#lastPingAt + (isPressing ? this.#pace.pingInTurnMs : this.#pace.pingIdleMs);
  }

  /** The oldest ping since the agent was last heard, if at least two are waiting: one missed probe proves nothing (case 3). */
  #oldestUnheard(): number | undefined {
    const unheard = this.#unanswered.filter((sentAt) => sentAt >= this.#lastHeardAt);
    return unheard.length < 2 ? undefined : unheard[0];
  }

  #lookForAnswers(now: number): LivenessEvent[] {
    const oldest = this.#oldestUnheard();
    if (this.isUnresponsive) {
      if (!this.#isHeard) return [];
      this.isUnresponsive = false;
      return [{ kind: 'responsive' }];
    }
    // An agent that has never answered a ping may be one that does not; its silence says nothing.
    if (oldest === undefined || !this.#hasAnswered || now - oldest < this.#pace.unresponsiveAfterMs) return [];
    this.isUnresponsive = true;
    this.#isHeard = false;
    return [{ kind: 'unresponsive', silentForMs: Math.round(now - this.#lastHeardAt) }];
  }

  #lookForProgress(now: number, { isTurnOpen, isAsking }: PulseContext): LivenessEvent[] {
    // While somebody is asked the clock stands still (design section 7).
    if (!isTurnOpen || isAsking) this.#lastProgressAt = now;
    const silentForMs = now - this.#lastProgressAt;
    const isStalled = silentForMs >= this.#pace.stalledAfterMs;
    if (isStalled === this.isStalled) return [];
    this.isStalled = isStalled;
    return isStalled ? [{ kind: 'stalled', silentForMs: Math.round(silentForMs) }] : [{ kind: 'unstalled' }];
  }

  /** `look` runs at least as often as something is due, so a long gap past that is ours. */
  #forgiveOwnAbsence(now: number, context: PulseContext): void {
    const expected = Math.max(this.#lastLookAt, Math.min(this.nextDueAt(context), now));
    const absentFor = now - expected;
    this.#lastLookAt = now;
    if (absentFor < ownAbsenceMs) return;
    this.#unanswered = this.#unanswered.map((sentAt) => sentAt + absentFor);
    this.#lastProgressAt += absentFor;
  }
}
