import type { Phase } from '../../gate/index.ts';
import type { AppContext } from '../context.ts';

/** The operating phase of now (G-23): the setting, which the environment can only lower. */
export function phaseOf(ctx: Pick<AppContext, 'config'>): Phase {
  return ctx.config.get('gate.phase') as Phase;
}
