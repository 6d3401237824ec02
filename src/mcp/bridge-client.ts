import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Problem } from '../wire/index.ts';

/** Longest wait between two tries while the server is away. */
const longestWaitMs = 5000;
/** How often a call that came too soon after too many is sent again, each time after the wait that the server names. */
const maxPatience = 6;
/** How long one answer may take; nothing on the agents' side takes longer than a waiting question (30 s) or a commit. */
const answerWithinMs = 120_000;

/** A request to the server on behalf of the session. */
export interface BridgeRequest {
  method: string;
  path: string;
  body?: unknown;
  /** The same for every try, so that nothing is done twice. */
  key: string;
  signal: AbortSignal;
  /** Called before each wait while the server is away. */
  onAway?: () => void;
}

/** The server said no; the agent is told why. */
export class Refused extends Error {
  readonly problem: Problem;

  constructor(problem: Problem) {
    super(problem.detail);
    this.name = 'Refused';
    this.problem = problem;
  }
}

/** Talks to the server through the bridge's socket. */
export interface BridgeClient {
  /**
   * Sends until an answer comes: a server that is away, or went away in the middle, is asked again with the same key, and so,
   * some times, is one that said `too_many_calls`. Throws `Refused` for a no, and the signal's reason when the caller gave up.
   */
  send<T>(request: BridgeRequest): Promise<T>;
}

/** A client with the session's token. */
export function createBridgeClient(socketPath: string, token: string): BridgeClient {
  return {
    async send<T>(wanted: BridgeRequest): Promise<T> {
      let patience = maxPatience;
      let awayMs = 100;
      for (;;) {
        wanted.signal.throwIfAborted();
        const answer = await tryOnce(socketPath, token, wanted).catch((error: unknown) => {
          wanted.signal.throwIfAborted();
          if (!isAway(error)) throw error;
          return undefined;
        });
        if (answer && answer.status < 400) return JSON.parse(answer.text) as T;
        // 503 and 502: the server is starting or its store is away; 5xx beyond that is a real failure.
        if (answer && answer.status !== 503 && answer.status !== 502) {
          const problem = JSON.parse(answer.text) as Problem;
          if (problem.code !== 'too_many_calls' || patience === 0) throw new Refused(problem);
          patience -= 1;
          const namedMs = Number(problem.facts?.retry_after_s ?? 1) * 1000;
          await sleep(Math.min(longestWaitMs, namedMs), undefined, { signal: wanted.signal });
          continue;
        }
        wanted.onAway?.();
        await sleep(awayMs, undefined, { signal: wanted.signal });
        awayMs = Math.min(longestWaitMs, awayMs * 2);
      }
    },
  };
}

function tryOnce(socketPath: string, token: string, wanted: BridgeRequest): Promise<{ status: number; text: string }> {
  const body = wanted.body === undefined ? undefined : JSON.stringify(wanted.body);
  const headers: Record<string, string> = {
    host: 'localhost',
    accept: 'application/json',
    authorization: `Bearer ${token}`,
  };
  if (wanted.method !== 'GET') headers['idempotency-key'] = wanted.key;
  if (body !== undefined) {
    headers['content-type'] = 'application/json';
    headers['content-length'] = String(Buffer.byteLength(body));
  }
  return new Promise((resolve, reject) => {
    const sending = request({
      socketPath,
      method: wanted.method,
      path: wanted.path,
      headers,
      signal: wanted.signal,
      timeout: answerWithinMs,
    });
    sending.once('timeout', () => sending.destroy(Object.assign(new Error('no answer'), { code: 'ETIMEDOUT' })));
    sending.once('error', reject);
    sending.once('response', (message) => {
      const chunks: Buffer[] = [];
      message.on('data', (chunk: Buffer) => chunks.push(chunk));
      message.once('error', reject);
      message.once('end', () => {
        resolve({ status: message.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') });
      });
    });
    sending.end(body);
  });
}

/** Whether the server could not be reached, or went away before it had answered. */
function isAway(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return ['ENOENT', 'ECONNREFUSED', 'ECONNRESET', 'EPIPE', 'ETIMEDOUT', 'ECONNABORTED'].includes(code ?? '');
}
