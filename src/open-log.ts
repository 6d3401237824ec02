import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { destination, type Logger, pino } from 'pino';

import type { InstancePaths } from './config/index.ts';

/** The server's log: one JSON object a line in `logs/server.log`, without secrets, texts of agents or bodies of requests. */
export function openLog(paths: InstancePaths, level: string): Logger {
  mkdirSync(paths.logs, { recursive: true, mode: 0o700 });
  const file = destination({ dest: join(paths.logs, 'server.log'), mode: 0o600, sync: true });
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime }, file);
}
