import { join } from 'node:path';

import type { SandboxProfile, WallRule } from '../../sandbox/index.ts';
import type { AppContext } from '../context.ts';

/**
 * Opens the way out of one session: the wall listens on a socket folder of its own and lets through what `rules` and the
 * instance name. `none` where the driver has no network of its own to cut.
 */
export async function openNetwork(
  ctx: AppContext,
  sessionId: string,
  rules: readonly WallRule[],
): Promise<SandboxProfile['network']> {
  const { wall: keeper, sandbox, rules: always } = ctx.barrier;
  if (sandbox?.driver === 'seatbelt') return { kind: 'hosts', hosts: [...always, ...rules].map(({ host }) => host) };
  if (!keeper || !sandbox) return { kind: 'none' };
  const socketFolder = join(ctx.bridge.runFolder, 'w', sessionId.slice(-12));
  const wall = await keeper.wall();
  const owner = sandbox.owner;
  await wall.admit({ sessionId, socketFolder, rules: [...always, ...rules], ...(owner ? { owner } : {}) });
  return { kind: 'wall', socketFolder };
}

/** Closes the way out of a session that has ended. */
export async function closeNetwork(ctx: AppContext, sessionId: string): Promise<void> {
  const { wall: keeper } = ctx.barrier;
  if (keeper) (await keeper.wall()).dismiss(sessionId);
}
