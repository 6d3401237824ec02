import type { LinkPace } from './driver.ts';

/** The pace of decision 4 and design section 7. */
export const defaultPace: LinkPace = {
  pingInTurnMs: 1_000,
  pingIdleMs: 30_000,
  unresponsiveAfterMs: 1_500,
  stalledAfterMs: 300_000,
  unconfirmedAfterMs: 10_000,
  modeReadBackMs: 10_000,
};
