import { setImmediate as nextTurn } from 'node:timers/promises';

import { type EventFilter, eventTailOf } from './event-tail.ts';
import type { SequencedRow } from './events.ts';
import { eventsTopic, type Store } from './store.ts';

/** A running `followEvents`. */
export interface Following {
  /** Ends it; `onEvent` is not called any more once this has resolved. Not to be awaited inside `onEvent`. */
  stop(): Promise<void>;
}

/** Looks this often without being woken. */
const pollMs = 5000;

/**
 * Calls `onEvent` for every sequenced event after `after`, replayed first and then live, each once and in order; waits for
 * the promise it returns before the next (so a slow reader holds back only itself). `filter` narrows as `readEvents` does.
 * An error of `onEvent` ends the following and goes to `onEnd`; a failed read is tried again.
 */
export function followEvents(
  store: Store,
  after: number,
  onEvent: (event: SequencedRow) => void | Promise<void>,
  options: { filter?: EventFilter; onEnd?: (error: unknown) => void } = {},
): Following {
  const tail = eventTailOf(store);
  let position = after;
  let stopped = false;
  let again = false;
  let running: Promise<void> | undefined;
  const unlisten = store.onWake(eventsTopic, look);
  const timer = setInterval(look, pollMs);
  look();

  function look(): void {
    again = true;
    running ??= readOn().finally(() => {
      running = undefined;
      if (again && !stopped) look();
    });
  }

  async function readOn(): Promise<void> {
    while (again && !stopped) {
      again = false;
      const page = await tail.read(position, options.filter ?? {}).catch(() => undefined);
      if (!page) return;
      await handOn(page.rows);
      position = page.upTo;
      if (!page.isFull) continue;
      again = true;
      // SQLite answers without waiting: let others have a turn between pages.
      await nextTurn();
    }
  }

  async function handOn(rows: readonly SequencedRow[]): Promise<void> {
    try {
      for (const row of rows) {
        if (stopped) return;
        await onEvent(row);
      }
    } catch (error) {
      end();
      options.onEnd?.(error);
    }
  }

  function end(): void {
    stopped = true;
    unlisten();
    clearInterval(timer);
  }

  return {
    async stop() {
      end();
      await running;
    },
  };
}
