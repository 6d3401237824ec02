import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';

/** Cost of one guess: N = 2^15, r = 8, p = 1 (32 MiB, some 60 ms). */
const cost = { logN: 15, r: 8, p: 1, length: 32 } as const;

/** log2 of scrypt's N that instances use. */
export const defaultPassphraseCost = cost.logN;

/** Hashes a passphrase for the store with 2^`logN` rounds; never inside a transaction, because it waits. */
export async function hashPassphrase(passphrase: string, logN: number = defaultPassphraseCost): Promise<string> {
  const salt = randomBytes(16);
  const hash = await derive(passphrase, salt, { ...cost, logN });
  return ['scrypt', logN, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')].join('$');
}

/** Whether `passphrase` gives `stored`, in constant time. Without a stored hash the same work is done and the answer is no. */
export async function matchesPassphrase(passphrase: string, stored: string | undefined): Promise<boolean> {
  const [scheme, logN, r, p, salt, hash] = (stored ?? nobody).split('$');
  if (scheme !== 'scrypt' || !salt || !hash) throw new Error('a stored passphrase hash is not in the known form');
  const expected = Buffer.from(hash, 'base64url');
  const parameters = { logN: Number(logN), r: Number(r), p: Number(p), length: expected.length };
  const actual = await derive(passphrase, Buffer.from(salt, 'base64url'), parameters);
  return timingSafeEqual(actual, expected) && stored !== undefined;
}

/** What an unknown name is compared with, so that names cannot be told apart by time. */
const nobody = [
  'scrypt',
  cost.logN,
  cost.r,
  cost.p,
  'AAAAAAAAAAAAAAAAAAAAAA',
  Buffer.alloc(32).toString('base64url'),
].join('$');

function derive(
  passphrase: string,
  salt: Buffer,
  { logN, r, p, length }: { logN: number; r: number; p: number; length: number },
): Promise<Buffer> {
  const options = { N: 2 ** logN, r, p, maxmem: 256 * 2 ** logN * r };
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), salt, length, options, (error, key) => (error ? reject(error) : resolve(key)));
  });
}
