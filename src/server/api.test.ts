import { describe, expect, it } from 'vitest';

import { passphrase, setupApi } from '../../test/server/api-world.ts';

const verdict = 'PUT /api/decisions/some-id/verdict';
const body = { verdict: 'approve' };

async function problemOf(answer: Response): Promise<{ code: string; kind: string; errors?: { path: string }[] }> {
  return (await answer.json()) as { code: string; kind: string; errors?: { path: string }[] };
}

describe('a page on another origin with the browser’s cookie', () => {
  const foreign: [string, Record<string, string>][] = [
    ['another local port', { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' }],
    ['another site', { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' }],
    ['no Origin at all', { origin: '' }],
    ['a null Origin', { origin: 'null', 'sec-fetch-site': 'cross-site' }],
    ['our Origin but not same-origin', { 'sec-fetch-site': 'same-site' }],
    ['localhost instead of 127.0.0.1', { origin: 'http://localhost:4747', 'sec-fetch-site': 'same-site' }],
  ];

  it.each(foreign)('changes nothing: %s', async (_name, headers) => {
    const { send, standing, reached, refusals } = await setupApi();
    const answer = await send(verdict, { as: 'operator', proof: standing.operator, headers, body });
    expect([answer.status, (await problemOf(answer)).code]).toEqual([403, 'cross_origin']);
    expect(reached).toEqual([]);
    expect(await refusals()).toMatchObject([{ code: 'cross_origin' }]);
  });

  it('reads nothing and gets no CORS header', async () => {
    const { send } = await setupApi();
    const headers = { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' };
    const answer = await send('GET /api/status', { as: 'operator', headers });
    expect(answer.status).toBe(403);
    const preflight = await send('OPTIONS /api/status', {
      as: 'operator',
      headers: { ...headers, 'access-control-request-method': 'PUT' },
    });
    for (const one of [answer, preflight]) {
      expect([...one.headers.keys()].filter((name) => name.startsWith('access-control'))).toEqual([]);
    }
  });

  it('cannot log anybody in either', async () => {
    const { send } = await setupApi();
    const headers = { origin: 'http://127.0.0.1:3000', 'sec-fetch-site': 'same-site' };
    const answer = await send('POST /api/log-ins', { headers, body: { name: 'ada', passphrase } });
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null]);
  });

  it('cannot send a form: only JSON is taken', async () => {
    const { send, standing, reached } = await setupApi();
    const headers = { 'content-type': 'text/plain' };
    const answer = await send(verdict, {
      as: 'operator',
      proof: standing.operator,
      headers,
      body: JSON.stringify(body),
    });
    expect([answer.status, (await problemOf(answer)).code]).toEqual([415, 'not_json']);
    expect(reached).toEqual([]);
  });
});

describe('a name that was rebound to this machine', () => {
  it.each(['evil.example:4747', '127.0.0.1:3000', '127.0.0.1', '0.0.0.0:4747', ''])(
    'gets 421 for Host "%s"',
    async (host) => {
      const { send } = await setupApi();
      const answer = await send('GET /api/openapi.json', { headers: { host } });
      expect([answer.status, (await problemOf(answer)).code]).toEqual([421, 'unknown_host']);
    },
  );

  it('does not matter for our own names', async () => {
    const { send } = await setupApi();
    for (const host of ['127.0.0.1:4747', 'localhost:4747', '[::1]:4747']) {
      expect((await send('GET /healthz', { headers: { host } })).status).toBe(200);
    }
  });
});

describe('log-in over HTTP', () => {
  it('sets a cookie that no script reads and no other site sends, and keeps the proof out of it', async () => {
    const { send } = await setupApi();
    const answer = await send('POST /api/log-ins', { body: { name: 'ada', passphrase } });
    expect(answer.status).toBe(201);
    const cookie = answer.headers.get('set-cookie') ?? '';
    expect(cookie).toMatch(/^chantier_4747=[\w-]{43}; Max-Age=43200; Path=\/; HttpOnly; SameSite=Strict$/);
    const { proof } = (await answer.json()) as { proof: string };
    expect(cookie).not.toContain(proof);
  });

  it('says for how long to wait after too many wrong passphrases', async () => {
    const { send } = await setupApi();
    for (let i = 0; i < 5; i += 1) await send('POST /api/log-ins', { body: { name: 'ada', passphrase: 'wrong one' } });
    const answer = await send('POST /api/log-ins', { body: { name: 'ada', passphrase } });
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '1']);
  });

  it('ends: afterwards the cookie reads nothing', async () => {
    const { send } = await setupApi();
    const first = await send('POST /api/log-ins', { body: { name: 'ada', passphrase } });
    const cookie = (first.headers.get('set-cookie') ?? '').split(';')[0]!;
    expect((await send('GET /api/whoami', { headers: { cookie } })).status).toBe(200);
    expect((await send('DELETE /api/log-ins/current', { headers: { cookie } })).status).toBe(200);
    expect((await send('GET /api/whoami', { headers: { cookie } })).status).toBe(401);
  });

  it('of nobody known makes no first operator without the link', async () => {
    const { send } = await setupApi();
    const answer = await send('POST /api/first-run', { body: { secret: 'guess', name: 'eve', passphrase } });
    expect([answer.status, (await problemOf(answer)).code]).toEqual([409, 'operator_exists']);
  });
});

describe('requests', () => {
  it('that change something need an idempotency key', async () => {
    const { send, reached } = await setupApi();
    for (const key of [null, '', 'ä', 'x'.repeat(129)]) {
      const headers: Record<string, string> = key === 'ä' ? {} : {};
      const answer = await send('POST /api/jobs', {
        as: 'operator-cli',
        key: key === 'ä' ? 'a b' : key,
        headers,
        body: {},
      });
      expect([answer.status, (await problemOf(answer)).code]).toEqual([422, 'idempotency_key_malformed']);
    }
    expect(reached).toEqual([]);
  });

  it('of the seven commands reach the supervisor without one: its guards have an order (S-17, S-26)', async () => {
    const { send, reached } = await setupApi();
    await send('POST /api/sessions', { as: 'operator-cli', key: null, body: {} });
    expect(reached.map((one) => one.method)).toEqual(['sessions.start']);
  });

  it('name every field that is wrong', async () => {
    const { send } = await setupApi();
    const answer = await send('POST /api/jobs', {
      as: 'operator-cli',
      body: { project: '', codename: 'X', title: 'ok', tasks: [] },
    });
    const problem = await problemOf(answer);
    expect([answer.status, answer.headers.get('content-type'), problem.code, problem.kind]).toEqual([
      422,
      'application/problem+json',
      'invalid_request',
      'invalid',
    ]);
    expect(problem.errors?.map((error) => error.path)).toEqual(['body.project', 'body.codename', 'body.tasks']);
  });

  it('with something that is no JSON, or with more than 4 MiB, are refused', async () => {
    const { send } = await setupApi();
    const broken = await send('POST /api/jobs', { as: 'operator-cli', body: '{"a":' });
    expect([broken.status, (await problemOf(broken)).code]).toEqual([400, 'not_json']);
    const huge = await send('POST /api/jobs', { as: 'operator-cli', body: `"${'x'.repeat(4 * 1024 * 1024)}"` });
    expect([huge.status, (await problemOf(huge)).code]).toEqual([413, 'body_too_large']);
  });

  it('name things with a slash in them', async () => {
    const { send, reached } = await setupApi();
    await send('PUT /api/sessions/my-project%2Fmy-task/pause', { as: 'operator-cli', body: { reason: 'lunch' } });
    expect(reached[0]).toEqual({ method: 'sessions.pause', input: ['my-project/my-task', 'lunch'] });
  });

  it('that fail without a known reason show nothing of it', async () => {
    const { api, send } = await setupApi();
    api.get('/api/broken', () => {
      throw new Error('secret detail');
    });
    const answer = await send('GET /api/broken', { as: 'operator-cli' });
    const text = await answer.text();
    expect([answer.status, JSON.parse(text).code]).toEqual([500, 'unexpected']);
    expect(text).not.toContain('secret');
    expect(text).toContain(answer.headers.get('request-id')!);
  });

  it('for a path that is not there get a problem, and an agent’s try is an event', async () => {
    const { send, refusals } = await setupApi();
    const answer = await send('GET /api/nothing', { as: 'author' });
    expect([answer.status, (await problemOf(answer)).code]).toEqual([404, 'unknown_route']);
    expect(await refusals()).toMatchObject([{ route: 'unknown', principal: 'author' }]);
  });
});

describe('every answer', () => {
  it('forbids foreign scripts, frames and sniffing', async () => {
    const { send } = await setupApi();
    const { headers } = await send('GET /healthz');
    expect(headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('content-security-policy')).not.toContain('unsafe');
    expect(headers.get('x-content-type-options')).toBe('nosniff');
    expect((await send('GET /api/whoami', { as: 'operator' })).headers.get('cache-control')).toBe('no-store');
  });
});

describe('health and figures', () => {
  it('are there without a log-in and hold no texts', async () => {
    const { send } = await setupApi();
    expect(await (await send('GET /readyz')).json()).toEqual({ status: 'ready' });
    const metrics = await (await send('GET /metrics')).text();
    expect(metrics).toContain('# TYPE chantier_test gauge\nchantier_test{kind="a\\"b"} 1\n');
    expect(metrics).toContain('# TYPE process_cpu_seconds_total counter');
  });

  it('serve the OpenAPI document', async () => {
    const { send } = await setupApi();
    const document = (await (await send('GET /api/openapi.json')).json()) as { openapi: string; paths: object };
    expect(document.openapi).toBe('3.1.0');
    expect(Object.keys(document.paths).length).toBeGreaterThan(50);
  });
});
