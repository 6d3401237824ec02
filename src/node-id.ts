import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import type { InstancePaths } from './config/index.ts';

/** Id of this node: made once and kept in the home, since a machine's name changes and sessions belong to the node that started them. */
export function ensureNodeId(paths: InstancePaths): string {
  const file = join(paths.keys, 'node-id');
  if (existsSync(file)) return readFileSync(file, 'utf8').trim();
  mkdirSync(paths.keys, { recursive: true, mode: 0o700 });
  const id = `node-${randomUUID().slice(0, 8)}`;
  writeFileSync(`${file}.new`, `${id}\n`, { mode: 0o600 });
  renameSync(`${file}.new`, file);
  return id;
}
