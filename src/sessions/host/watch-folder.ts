import { watch } from 'node:fs';
import type { FSWatcher } from 'node:fs';

/** How often everything is looked at even without a notice of the file system (ms). */
const pollMs = 250;

/** Why it is looked: something changed, or time passed. */
export type LookCause = 'notice' | 'poll';

const polled = new Set<(cause: LookCause) => void>();
let timer: NodeJS.Timeout | undefined;

/**
 * Calls `look` soon after anything in `folder` changed (inotify) and every 250 ms in any case, because notices get lost
 * and a dead process gives none. `look` must be cheap and is level-triggered. Answers the function that ends it.
 */
export function watchFolder(folder: string, look: (cause: LookCause) => void): () => void {
  let watcher: FSWatcher | undefined;
  try {
    watcher = watch(folder, { persistent: false }, () => look('notice'));
    watcher.on('error', () => watcher?.close());
  } catch {
    // Out of inotify watches: the poll alone serves.
  }
  polled.add(look);
  timer ??= setInterval(() => {
    for (const each of polled) each('poll');
  }, pollMs).unref();
  return () => {
    watcher?.close();
    polled.delete(look);
    if (polled.size > 0) return;
    clearInterval(timer);
    timer = undefined;
  };
}
