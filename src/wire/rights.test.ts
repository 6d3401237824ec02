import { describe, expect, it } from 'vitest';

import { isMutation, judgeRight, principalKinds, rightOf, rights, type RouteName } from './index.ts';

const routes = Object.keys(rights) as RouteName[];
const agents = ['author', 'reviewer', 'qa'] as const;

/** What agents may reach at all; everything else is closed to them. Written out, so that a change of the table shows here. */
const openToAgents = new Set<string>([
  'GET /healthz',
  'GET /readyz',
  'GET /api/openapi.json',
  'GET /api/whoami',
  'GET /api/events',
  ...routes.filter((route) => route.split(' ')[1]?.startsWith('/api/agent/')),
]);

describe('the table of rights', () => {
  it.each(routes)('%s is closed to every principal that is not named, whatever the proof', (route) => {
    for (const principal of principalKinds) {
      if (rightOf(route).who.includes(principal)) continue;
      for (const proof of ['none', 'standing', 'fresh'] as const) {
        expect(judgeRight(route, principal, proof)).toBe('not-permitted');
      }
    }
  });

  it.each(agents)('gives a session of role %s no route outside its own, and none that decides (G-20)', (role) => {
    for (const route of routes) {
      if (openToAgents.has(route)) continue;
      expect([route, judgeRight(route, role, 'fresh')]).toEqual([route, 'not-permitted']);
    }
  });

  it('gives viewers reading only, but for ending their own log-in', () => {
    const changes = routes.filter((route) => isMutation(route.split(' ')[0]!) && rightOf(route).who.includes('viewer'));
    expect(changes).toEqual(['POST /api/log-ins', 'DELETE /api/log-ins/current']);
  });

  it('gives someone without a credential nothing of the store', () => {
    expect(routes.filter((route) => rightOf(route).who.includes('anyone'))).toEqual([
      'GET /healthz',
      'GET /readyz',
      'GET /metrics',
      'GET /api/openapi.json',
      'POST /api/first-run',
      'POST /api/log-ins',
    ]);
  });

  it('lets the console change nothing by its cookie alone', () => {
    for (const route of routes) {
      const right = rightOf(route);
      if (!isMutation(route.split(' ')[0]!) || !right.who.includes('operator') || right.withoutKey) continue;
      expect([route, judgeRight(route, 'operator', 'none')]).not.toEqual([route, 'granted']);
    }
  });

  it('asks the operator CLI for a proof wherever something is decided', () => {
    const deciding = routes.filter((route) =>
      /verdict|decision|answers|landings$|human-review|closure|reverts/.test(route),
    );
    for (const route of deciding.filter((one) => isMutation(one.split(' ')[0]!))) {
      expect([route, judgeRight(route, 'operator-cli', 'none')]).toEqual([route, 'proof-required']);
      expect([route, judgeRight(route, 'operator-cli', 'standing')]).toEqual([route, 'granted']);
    }
  });

  it('asks for the passphrase anew for trust, set-up and users, even in an open terminal', () => {
    for (const route of ['PUT /api/repositories/{repository}/trust', 'PUT /api/instance/setup', 'POST /api/users']) {
      expect(judgeRight(route, 'operator', 'standing')).toBe('fresh-proof-required');
      expect(judgeRight(route, 'operator', 'fresh')).toBe('granted');
    }
  });

  it('gives reviewers exactly status, review and completion beside the open routes', () => {
    const own = routes.filter((route) => route.includes('/api/agent/') && rightOf(route).who.includes('reviewer'));
    expect(own).toEqual(['PUT /api/agent/status', 'PUT /api/agent/completion', 'PUT /api/agent/review']);
  });

  it('knows no right for a route that it does not name', () => {
    expect(() => rightOf('POST /api/approvals')).toThrow(/no entry in the table of rights/);
  });
});
