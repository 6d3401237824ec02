import type { Sandbox } from '../profile.ts';

/** The twelve effects that the probe demands; `reached-end` proves that the profile let the program run at all. */
export const probeEffects = [
  'hidden',
  'writable',
  'read-only',
  'outside-process-unreachable',
  'own-pid-namespace',
  'no-capabilities',
  'seccomp-on',
  'proc-sys-read-only',
  'not-root',
  'no-new-user-namespace',
  'no-network',
  'reached-end',
] as const;

/** `unreadable` takes the place of `hidden` where file rights are the whole barrier (`user:<name>`). */
export type ProbeEffect = (typeof probeEffects)[number] | 'unreadable';

/** What the probe found; shown at start, by `doctor` and by `init`. */
export interface ProbeReport {
  driver: Sandbox['driver'];
  /** Every demanded effect was seen: "no agent can decide" is true. */
  holds: boolean;
  effects: readonly { effect: ProbeEffect; seen: boolean }[];
  /** When it does not hold: why not, for a human. */
  cause?: string;
  /** When there is one: what somebody does about it. */
  cure?: string;
  /** Version of the program that makes the barrier. */
  version?: string;
  /** How long the probed program took from start to end. */
  durationMs?: number;
  /** Things worth saying although the barrier holds: no memory limit, no socat. */
  notes?: readonly string[];
}
