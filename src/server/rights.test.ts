import { describe, expect, it } from 'vitest';

import { isMutation, judgeRight, principalKinds, rightOf, rights, type RouteName } from '../wire/index.ts';
import { setupApi } from '../../test/server/api-world.ts';

const routes = Object.keys(rights) as RouteName[];

/** A path with something in each place. */
const concrete = (route: RouteName): string => route.replaceAll(/\{\w+\}/g, 'some-id');
/** Refused by the table of rights, whatever the reason. */
const isRefused = (status: number): boolean => status === 401 || status === 403;

describe('every route × every principal', () => {
  it('is served, and refused exactly where the table of rights says so, with an event each', async () => {
    const world = await setupApi();
    for (const route of routes) {
      for (const as of principalKinds) {
        // Without a body these two say 403 themselves: the passphrase is wrong.
        if (['POST /api/log-ins', 'POST /api/proofs', 'POST /api/unlocks', 'POST /api/first-run'].includes(route))
          continue;
        if (route === 'DELETE /api/log-ins/current' && as !== 'anyone') continue;
        const before = (await world.refusals()).length;
        const answer = await world.send(concrete(route), {
          as,
          ...(isMutation(route.split(' ')[0]!) ? { body: {} } : {}),
        });
        const verdict = judgeRight(route, as, 'none');
        expect([route, as, isRefused(answer.status)]).toEqual([route, as, verdict !== 'granted']);
        expect((await world.refusals()).length - before).toBe(verdict === 'granted' ? 0 : 1);
        if (verdict === 'granted') expect([route, as, await codeOf(answer)]).not.toEqual([route, as, 'unknown_route']);
        world.clock.advance(60_001);
      }
    }
  }, 60_000);

  it('opens with the proof that the table asks for, and only then', async () => {
    const world = await setupApi();
    for (const route of routes.filter((one) => isMutation(one.split(' ')[0]!) && !rightOf(one).withoutKey)) {
      for (const as of ['operator', 'operator-cli'] as const) {
        if (!rightOf(route).who.includes(as)) continue;
        const withStanding = await world.send(concrete(route), { as, proof: world.standing[as], body: {} });
        expect([route, as, isRefused(withStanding.status)]).toEqual([route, as, rightOf(route).proof === 'fresh']);
      }
    }
  });

  it('takes a fresh proof where one is asked for, once', async () => {
    const world = await setupApi();
    const route = 'PUT /api/repositories/some-id/trust';
    const proof = await world.freshProof('operator-cli');
    const first = await world.send(route, { as: 'operator-cli', proof, body: {}, key: 'one' });
    expect(await codeOf(first)).toBe('reached');
    expect(await codeOf(await world.send(route, { as: 'operator-cli', proof, body: {}, key: 'one' }))).toBe('reached');
    const second = await world.send(route, { as: 'operator-cli', proof, body: {}, key: 'two' });
    expect([second.status, await codeOf(second)]).toEqual([403, 'proof_spent']);
  });
});

describe('what an agent tries (gate attack 15)', () => {
  it('has no effect with its own token at any door, and each try that reached the server is an event', async () => {
    const world = await setupApi();
    const deciding = routes.filter((route) => isMutation(route.split(' ')[0]!) && !route.includes('/api/agent/'));
    for (const route of deciding) {
      for (const door of ['bridge', 'tcp', 'operator-socket'] as const) {
        const answer = await world.send(concrete(route), { as: 'author', door, body: { verdict: 'approve' } });
        expect([route, door, answer.status]).toEqual([route, door, 403]);
        world.clock.advance(60_001);
      }
    }
    expect(world.reached).toEqual([]);
    expect((await world.refusals()).length).toBe(deciding.length * 3);
  });

  it('gets nowhere with the operator’s token at the bridge, with a stolen cookie there, or with a guessed proof', async () => {
    const world = await setupApi();
    const verdict = 'PUT /api/decisions/some-id/verdict';
    const body = { verdict: 'approve' };
    const stolen = await world.send(verdict, {
      as: 'operator-cli',
      door: 'bridge',
      proof: world.standing['operator-cli'],
      body,
    });
    expect([stolen.status, await codeOf(stolen)]).toEqual([401, 'wrong_door']);
    const cookie = await world.send(verdict, { as: 'operator', door: 'bridge', proof: world.standing.operator, body });
    expect(cookie.status).toBe(401);
    const guessed = await world.send(verdict, { as: 'operator-cli', proof: 'guess', body });
    expect([guessed.status, await codeOf(guessed)]).toEqual([403, 'proof_not_accepted']);
    expect(world.reached).toEqual([]);
  });

  it('finds no eighth command: the answer names the seven and the try is an event (ERR-05)', async () => {
    const world = await setupApi();
    for (const as of ['author', 'operator-cli'] as const) {
      const answer = await world.send('PUT /api/sessions/some-id/merge', { as, body: {} });
      const problem = (await answer.json()) as { code: string; detail: string };
      expect(problem.code).toBe('unknown_command');
      expect(problem.detail).toContain('Available: start, status, escalations, respond, pause, resume, stop');
    }
    expect((await world.refusals()).map((refusal) => refusal.code)).toEqual(['unknown_command', 'unknown_command']);
  });
});

async function codeOf(answer: Response): Promise<string | undefined> {
  const type = answer.headers.get('content-type') ?? '';
  return type.includes('json') ? ((await answer.clone().json()) as { code?: string } | null)?.code : undefined;
}
