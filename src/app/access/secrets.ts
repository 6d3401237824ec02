import { randomBytes } from 'node:crypto';

import { sha256 } from '../../kernel/index.ts';

/** A new secret of 256 bits, as text for a header, a cookie or a file. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** How a secret is kept: its SHA-256. Enough for 256 random bits; never for a passphrase. */
export function hashSecret(secret: string): string {
  return sha256(secret);
}
