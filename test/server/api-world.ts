import { onTestFinished } from 'vitest';
import { pino } from 'pino';

import { type App, createAccess, type Door, hashSecret, newSecret } from '../../src/app/index.ts';
import { mustOk, ok, refuse } from '../../src/kernel/index.ts';
import { openTestSqlite } from '../../src/store/testing.ts';
import type { EventView, PrincipalKind } from '../../src/wire/index.ts';
import { buildApi } from '../../src/server/index.ts';

export const passphrase = 'correct horse battery';

/** A request as a test writes it; `as` brings the credentials of that principal at its own door. */
export interface TestRequest {
  as?: PrincipalKind;
  door?: Door;
  /** At an agents' door: whose it is; default: that of `as`. */
  sessions?: string[];
  proof?: string;
  headers?: Record<string, string>;
  body?: unknown;
  /** Default: a key made for the request; null sends none. */
  key?: string | null;
}

/**
 * The HTTP edge over a real store and real access. Behind it stands no App: every use case refuses with code `reached`, so a test
 * sees whether a request came that far. What the App does is tested with the App.
 */
export async function setupApi(options: { events?: EventSource; recheckMs?: number } = {}) {
  const { store, clock } = await openTestSqlite();
  const operatorToken = newSecret();
  const tokens = { author: newSecret(), reviewer: newSecret(), qa: newSecret() };
  const access = createAccess({
    store,
    operatorToken,
    lookUpSession: async (hash) => {
      const found = Object.entries(tokens).find(([, token]) => hashSecret(token) === hash);
      return found && { sessionId: `session-${found[0]}`, generation: 1, role: found[0] as keyof typeof tokens };
    },
    sandboxHolds: () => true,
    passphraseCost: 4,
  });
  const operator = mustOk(await access.addFirstOperator({ name: 'ada', passphrase }));
  mustOk(await access.addUser({ name: 'vic', role: 'viewer', passphrase }, { kind: 'system', id: 'test' }));
  const ada = mustOk(await access.logIn({ name: 'ada', passphrase }));
  const vic = mustOk(await access.logIn({ name: 'vic', passphrase }));
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  const reached: { method: string; input: unknown[] }[] = [];
  const app = noApp(reached, options.events);
  const api = buildApi({
    app,
    access,
    version: '0.0.0',
    log: pino({ level: 'silent' }),
    onShutdown: () => {},
    stopping: stopping.signal,
    ...(options.recheckMs === undefined ? {} : { recheckMs: options.recheckMs }),
  });

  /** Headers and door by which a principal comes in. */
  const credentialsOf = (principal: PrincipalKind): { door: Door; headers: Record<string, string> } => {
    const browser = { origin: 'http://127.0.0.1:4747', 'sec-fetch-site': 'same-origin' };
    switch (principal) {
      case 'operator':
        return { door: 'tcp', headers: { ...browser, cookie: `chantier_4747=${ada.cookie}` } };
      case 'viewer':
        return { door: 'tcp', headers: { ...browser, cookie: `chantier_4747=${vic.cookie}` } };
      case 'operator-cli':
        return { door: 'operator-socket', headers: { authorization: `Bearer ${operatorToken}` } };
      case 'anyone':
        return { door: 'tcp', headers: browser };
      default:
        return { door: 'bridge', headers: { authorization: `Bearer ${tokens[principal]}` } };
    }
  };

  const send = async (route: string, request: TestRequest = {}): Promise<Response> => {
    const [method, path] = route.split(' ') as [string, string];
    const own = credentialsOf(request.as ?? 'anyone');
    const door = request.door ?? own.door;
    const headers = new Headers({ host: '127.0.0.1:4747', ...own.headers });
    if (request.proof !== undefined) headers.set('chantier-proof', request.proof);
    if (request.key !== null) headers.set('idempotency-key', request.key ?? `test-${crypto.randomUUID()}`);
    if (method !== 'GET') headers.set('content-type', 'application/json');
    for (const [name, value] of Object.entries(request.headers ?? {})) headers.set(name, value);
    const init: RequestInit = { method, headers };
    if (request.body !== undefined)
      init.body = typeof request.body === 'string' ? request.body : JSON.stringify(request.body);
    const bindings = door === 'bridge' ? { sessions: new Set(request.sessions ?? [`session-${request.as}`]) } : {};
    const port = door === 'tcp' ? 4747 : 0;
    return api.fetch(new Request(`http://127.0.0.1:4747${path}`, init), { door, port, ...bindings });
  };

  /** A one-use proof for the terminal or the console. */
  const freshProof = async (as: 'operator' | 'operator-cli'): Promise<string> => {
    const answer = await send('POST /api/proofs', { as, body: { passphrase } });
    return ((await answer.json()) as { proof: string }).proof;
  };

  const refusals = async (): Promise<{ route: string; code: string; principal: string }[]> => {
    const rows = await store.read
      .selectFrom('event')
      .select('facts')
      .where('kind', '=', 'access.refused')
      .orderBy('ord')
      .execute();
    return rows.map((row) => JSON.parse(row.facts));
  };

  const standing = { operator: ada.view.proof!, 'operator-cli': mustOk(await access.unlock({ passphrase })).token };
  return {
    api,
    access,
    store,
    clock,
    operator,
    operatorToken,
    tokens,
    send,
    freshProof,
    standing,
    refusals,
    reached,
    stopping,
  };
}

/** What a test's event stream reads from. */
export interface EventSource {
  events: EventView[];
  oldest?: number;
  listeners: Set<() => void>;
}

/** An event log that a test appends to. */
export function eventSource(): EventSource & { add(sessionId?: string): void } {
  const events: EventView[] = [];
  const listeners = new Set<() => void>();
  return {
    events,
    listeners,
    add(sessionId) {
      const seq = events.length + 1;
      events.push({
        seq,
        id: `event-${seq}`,
        at: '2026-01-01T00:00:00.000Z',
        kind: 'test.happened',
        actor: { kind: 'system', id: 'test' },
        subject: { kind: 'test', id: String(seq) },
        projectId: null,
        sessionId: sessionId ?? null,
        cause: null,
        facts: {},
        hash: '0',
      });
      for (const listener of listeners) listener();
    },
  };
}

function noApp(reached: { method: string; input: unknown[] }[], source: EventSource | undefined): App {
  const group = (name: string, own: Record<string, unknown> = {}): unknown =>
    new Proxy(own, {
      get: (known, method: string) =>
        known[method] ??
        (async (_caller: unknown, ...input: unknown[]) => {
          reached.push({ method: `${name}.${method}`, input });
          return refuse('not-found', 'reached', 'The request reached the use case.');
        }),
    });
  const instance = {
    sandbox: () => ({ driver: 'none', holds: true, message: '' }),
    metrics: async () => [{ name: 'chantier_test', help: 'A test.', samples: [{ labels: { kind: 'a"b' }, value: 1 }] }],
    checkReady: async () => {},
    exportAudit: async function* () {
      yield '{}\n';
    },
    ...(source ? readerOf(source) : {}),
  };
  return new Proxy({} as App, {
    get: (_target, name: string) => group(name, name === 'instance' ? instance : {}),
  });
}

function readerOf({ events, listeners, ...source }: EventSource): Partial<App['instance']> {
  const head = (): number => events.length;
  return {
    events: async (_caller, query) => {
      const rows = events.filter((event) => event.seq > query.after).slice(0, query.limit);
      const items = rows.filter((event) => query.session === undefined || event.sessionId === query.session);
      return ok({ items, next: rows.at(-1)?.seq ?? query.after, head: head() });
    },
    eventBounds: async () => ({ oldest: source.oldest ?? Math.min(1, head()), head: head() }),
    onEvents: (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
