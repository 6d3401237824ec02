import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

import { canonicalJson } from './json.ts';

/** SHA-256 as 64 hex characters. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** SHA-256 over the canonical JSON of `value`; what idempotency compares (S-21) and approvals bind to. */
export function digestOf(value: unknown): string {
  return sha256(canonicalJson(value));
}

/** Keyed HMAC-SHA-256, first 16 hex characters: how a text appears in events and exports (S-63). */
export function shortHmac(key: string | Uint8Array, text: string): string {
  return createHmac('sha256', key).update(text).digest('hex').slice(0, 16);
}

/** Compares two secrets in constant time; different lengths are unequal. */
export function sameSecret(a: string, b: string): boolean {
  const left = Buffer.from(sha256(a), 'hex');
  const right = Buffer.from(sha256(b), 'hex');
  return timingSafeEqual(left, right);
}
