import { setTimeout as sleep } from 'node:timers/promises';

import type { CliContext } from './context.ts';
import { CommandFailure } from './outcome.ts';

const firstPauseMs = 250;
const longestPauseMs = 10_000;

/**
 * Reads, and while the server is away waits for it and reads again, until somebody interrupts (then `undefined`). Says once that
 * it waits, on stderr unless told otherwise. Starts no server: whoever ended it meant to.
 */
export async function readThroughRestarts<T>(
  context: CliContext,
  path: string,
  query: Record<string, string | number | boolean | undefined>,
  {
    signal = context.io.signal,
    onAway = () => context.io.err('The server is away; waiting for it.\n'),
  }: { signal?: AbortSignal; onAway?: () => void } = {},
): Promise<T | undefined> {
  for (let pauseMs = firstPauseMs; !signal.aborted; pauseMs = Math.min(longestPauseMs, pauseMs * 2)) {
    try {
      return await context.client().send<T>('GET', path, { query, signal });
    } catch (error) {
      if (signal.aborted) return undefined;
      if (!isAway(error)) throw error;
      if (pauseMs === firstPauseMs) onAway();
      await sleep(pauseMs, undefined, { signal }).catch(() => {});
    }
  }
  return undefined;
}

/** Whether a failure says that; what was asked for may be asked again under its key. */
export function isAway(error: unknown): boolean {
  return (
    error instanceof CommandFailure &&
    ['server_unreachable', 'connection_lost', 'stopping', 'not_ready'].includes(error.problem.code)
  );
}
