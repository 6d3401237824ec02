import { ok, refuse, type Result } from '../kernel/index.ts';

/** Operating phase (G-23, G-24): 1 read-only, 2 gated writes, 3 alerts, 4 self-extension; a higher one includes the lower. */
export type Phase = 1 | 2 | 3 | 4;

/**
 * The phase in effect: the instance's setting (default 1), lowered but never raised by the environment
 * (`CHANTIER_PHASE`, decision 10). An invalid value refuses `invalid_phase`: the server must not start (G-27).
 */
export function operatingPhase(setting: unknown, environment?: string): Result<Phase> {
  const configured = phaseOf(setting ?? 1);
  if (!configured) return invalidPhase('gate.phase', setting);
  if (environment === undefined || environment === '') return ok(configured);
  const lowered = phaseOf(environment);
  if (!lowered) return invalidPhase('CHANTIER_PHASE', environment);
  return ok(Math.min(configured, lowered) as Phase);
}

function phaseOf(value: unknown): Phase | undefined {
  const text = String(value);
  return /^[1-4]$/.test(text) ? (Number(text) as Phase) : undefined;
}

function invalidPhase(name: string, value: unknown): Result<never> {
  return refuse('invalid', 'invalid_phase', `${name} is ${JSON.stringify(value)}; it must be 1, 2, 3 or 4.`, { name });
}

/** The tools that an agent is shown: in phase 1 only those that read (G-26: hidden, and refused when called anyway). */
export function visibleTools<T extends { isReadOnly: boolean }>(tools: readonly T[], phase: Phase): T[] {
  return phase === 1 ? tools.filter((tool) => tool.isReadOnly) : [...tools];
}
