import type { LogInView } from '../src/wire/index.ts';

/** What the server said no with (RFC 9457). */
export class Problem extends Error {
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The proof of a human lives in this tab's memory only: the cookie reads, the header decides (design section 4). */
let proof: string | undefined;

export function hasProof(): boolean {
  return proof !== undefined;
}

/** Reads `path` under `/api`. Throws `Problem`. */
export async function get<T>(path: string): Promise<T> {
  return answer<T>(await fetch(`/api${path}`, { headers: { accept: 'application/json' } }));
}

/** Changes something under `/api`, once for its key. `freshProof` is the passphrase's one-use proof where one is asked for. */
export async function send<T>(
  method: 'POST' | 'PUT' | 'DELETE',
  path: string,
  body: unknown = {},
  freshProof?: string,
): Promise<T> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'idempotency-key': crypto.randomUUID(),
  };
  const carried = freshProof ?? proof;
  if (carried !== undefined) headers['chantier-proof'] = carried;
  return answer<T>(await fetch(`/api${path}`, { method, headers, body: JSON.stringify(body) }));
}

/** Logs in; the proof that comes back is kept for this tab. */
export async function logIn(name: string, passphrase: string): Promise<LogInView> {
  const view = await send<LogInView>('POST', '/log-ins', { name, passphrase });
  proof = view.proof ?? undefined;
  return view;
}

/** Sets the first operator's passphrase by the one-use link, then logs in. */
export async function firstRun(secret: string, name: string, passphrase: string): Promise<LogInView> {
  await send('POST', '/first-run', { secret, name, passphrase });
  return logIn(name, passphrase);
}

export async function logOut(): Promise<void> {
  await send('DELETE', '/log-ins/current');
  proof = undefined;
}

/** A proof for one act that asks for the passphrase anew. */
export async function freshProof(passphrase: string): Promise<string> {
  return (await send<{ proof: string }>('POST', '/proofs', { passphrase })).proof;
}

async function answer<T>(response: Response): Promise<T> {
  const text = await response.text();
  const body = text === '' ? undefined : (JSON.parse(text) as { code?: string; detail?: string; title?: string });
  if (!response.ok) {
    throw new Problem(
      response.status,
      body?.code ?? 'unknown',
      body?.detail ?? body?.title ?? `The server answered ${response.status}.`,
    );
  }
  return body as T;
}
