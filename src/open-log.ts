import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { destination, type Logger, pino } from 'pino';

import type { InstancePaths } from './config/index.ts';

/** So many characters wait for a disk that takes none; what comes beyond them is lost. */
const maxWaiting = 1_000_000;

/**
 * The server's log: one JSON object a line in `logs/server.log`, without secrets, texts of agents or bodies of requests. A log that
 * cannot be written (a full disk) stops nothing: its lines wait for room.
 */
export function openLog(paths: InstancePaths, level: string): Logger {
  mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
  const file = destination({ dest: join(paths.logs, 'server.log'), mode: 0o600, sync: true, maxLength: maxWaiting });
  file.on('error', () => {});
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, file);
}
