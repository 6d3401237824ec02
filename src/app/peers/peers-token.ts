import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

import { ensureOperatorToken } from '../access/index.ts';

/** The bearer token of the claude-peers port in `keys/peers.token`, mode 0600; made when there is none. It opens nothing else. */
export function ensurePeersToken(keysFolder: string): string {
  mkdirSync(keysFolder, { recursive: true, mode: 0o700 });
  return ensureOperatorToken(join(keysFolder, 'peers.token'));
}
