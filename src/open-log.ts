import { mkdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { destination, type Logger, pino } from 'pino';

import type { InstancePaths } from './config/index.ts';

/** So many characters wait for a disk that takes none; what comes beyond them is lost. */
const maxWaiting = 1_000_000;

/** How much of it is written and kept. */
export interface LogOptions {
  level: string;
  /**
   * A file of `maxBytes` gives way to a new one; `keep` older ones stay beside it, `server.log.1` the newest of them. Asked for
   * anew each time.
   */
  bounds(): { maxBytes: number; keep: number };
}

/**
 * The server's log: one JSON object a line in `logs/server.log`, without secrets, texts of agents or bodies of requests. A log that
 * cannot be written (a full disk) stops nothing: its lines wait for room.
 */
export function openLog(paths: InstancePaths, options: LogOptions): Logger {
  mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
  const path = join(paths.logs, 'server.log');
  const file = destination({ dest: path, mode: 0o600, sync: true, maxLength: maxWaiting });
  file.on('error', () => {});
  file.setMaxListeners(0); // one waits for each new file, and many lines may come at once
  let size = statSync(path, { throwIfNoEntry: false })?.size ?? 0;
  const stream = {
    write(line: string): void {
      const { maxBytes, keep } = options.bounds();
      if (size >= maxBytes) {
        size = 0;
        moveOn(path, keep);
        file.reopen();
      }
      size += Buffer.byteLength(line);
      file.write(line);
    },
  };
  return pino({ level: options.level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, stream);
}

/** `server.log` becomes `.1`, `.1` becomes `.2`, and so on; the last one goes. What cannot be moved is written on. */
function moveOn(path: string, keep: number): void {
  try {
    rmSync(keep === 0 ? path : `${path}.${keep}`, { force: true });
    for (let number = keep - 1; number >= 1; number -= 1) moveIfThere(`${path}.${number}`, `${path}.${number + 1}`);
    if (keep > 0) moveIfThere(path, `${path}.1`);
  } catch {
    // A log is never worth a failure of the server.
  }
}

function moveIfThere(from: string, to: string): void {
  if (statSync(from, { throwIfNoEntry: false })) renameSync(from, to);
}
