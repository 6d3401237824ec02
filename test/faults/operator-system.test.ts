import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';

import * as fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';

import { type Crew, openCrew, type RunIds } from '../e2e/crew.ts';
import { type Deed, deed, folderState, git, makeMakeRepository, perform } from '../repositories/index.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterAll(() => crew?.dispose());

/** How many operations are tried; the seed is printed. */
const operations = process.env.CHANTIER_TEST_FULL === '1' ? 1_000 : 60;
const seed = Number(process.env.CHANTIER_TEST_SEED ?? Math.floor(Math.random() * 2 ** 31));

/** What a fast-forward may touch besides the landed files. */
const gitParts = ['.git/objects', '.git/index', '.git/logs', '.git/refs/heads/main', '.git/packed-refs'];

type Move =
  | { kind: 'person'; deed: Deed }
  /** The person puts everything aside and goes back to the base, so that fast-forwards are possible again. */
  | { kind: 'tidy' }
  | {
      kind:
        | 'look'
        | 'detect'
        | 'register'
        | 'run'
        | 'run-with-changes'
        | 'land'
        | 'refuse'
        | 'stop'
        | 'revert'
        | 'trust';
    };

const move: fc.Arbitrary<Move> = fc.oneof(
  { weight: 4, arbitrary: deed.map((one): Move => ({ kind: 'person', deed: one })) },
  { weight: 1, arbitrary: fc.constant<Move>({ kind: 'tidy' }) },
  {
    weight: 6,
    arbitrary: fc
      .constantFrom(
        ...(['look', 'detect', 'register', 'run', 'run', 'run-with-changes', 'land', 'land', 'land'] as const),
        ...(['refuse', 'stop', 'revert', 'trust'] as const),
      )
      .map((kind): Move => ({ kind })),
  },
);

test(
  'property: whatever the whole system is asked for, the checkout of the operator stays byte-equal but for announced fast-forwards',
  { timeout: 7_200_000, retry: 0 },
  async () => {
    process.stdout.write(`operator-system: seed ${seed}, ${operations} operations\n`);
    const checkout = makeMakeRepository(join(crew.root, 'app'));
    const moves = fc.sample(move, { numRuns: operations, seed });
    const world = {
      checkout,
      runs: [] as RunIds[],
      landed: [] as string[],
      forwards: 0,
      allowed: [] as string[],
      seen: new Set<string>(),
      tip: git(checkout, 'rev-parse', 'main'),
    };
    let state = folderState(checkout);
    for (const [at, one] of moves.entries()) {
      if (at > 0 && at % 100 === 0) process.stdout.write(`operator-system: ${at} operations, ${summary(world)}\n`);
      if (one.kind === 'person' || one.kind === 'tidy') {
        if (one.kind === 'person') perform(checkout, one.deed, at);
        else tidy(checkout);
        state = folderState(checkout);
        continue;
      }
      await act(world, one.kind, at);
      const before = state;
      // A fast-forward is announced by its landing once it is done; nobody waits for it here.
      const isEqual = await crew
        .until(
          'an equal checkout',
          async () => {
            const allowed = await announced(world);
            state = folderState(checkout);
            return isDeepStrictEqual(without(state, allowed), without(before, allowed));
          },
          30_000,
        )
        .catch(() => false);
      const said = `operation ${at} (${one.kind}) of seed ${seed}`;
      if (!isEqual) expect(without(state, world.allowed), said).toEqual(without(before, world.allowed));
      world.allowed = [];
      world.tip = git(checkout, 'rev-parse', 'main');
    }
    process.stdout.write(`operator-system: done, ${summary(world)}\n`);
    expect(git(checkout, 'fsck', '--connectivity-only', '--no-dangling')).toBe('');
  },
);

interface World {
  checkout: string;
  runs: RunIds[];
  landed: string[];
  forwards: number;
  /** What fast-forwards that were announced since the last operation may have touched. */
  allowed: string[];
  seen: Set<string>;
  /** Where the base stood before the operation: a fast-forward may bring earlier landings along. */
  tip: string;
}

async function announced(world: World): Promise<string[]> {
  const { items } = await crew.get('/api/landings?limit=200');
  for (const { id, commit, checkout } of items) {
    if (checkout?.effect !== 'fast-forwarded' || world.seen.has(id)) continue;
    world.seen.add(id);
    world.forwards += 1;
    const files = git(world.checkout, 'diff', '--name-only', world.tip, commit).split('\n');
    world.allowed.push(...gitParts, ...files);
  }
  return world.allowed;
}

function summary({ runs, landed, forwards }: World): string {
  return `${runs.length} runs, ${landed.length} landings, ${forwards} fast-forwards`;
}

function tidy(checkout: string): void {
  git(checkout, 'reset', '--quiet', '--hard');
  git(checkout, 'clean', '--quiet', '-ffd');
  git(checkout, 'checkout', '--quiet', 'main');
}

/** Asks the system for one thing; gives the landing, once what followed it has ended. */
async function act(world: World, kind: Move['kind'], at: number) {
  const { checkout } = world;
  switch (kind) {
    case 'look':
      await crew.get('/api/status');
      return crew.get('/api/pull-requests?limit=20').then(() => undefined);
    case 'detect':
      return crew.send('POST', '/api/detections', { path: checkout, base: 'main' }).then(() => undefined);
    case 'register':
      return crew.send('POST', '/api/repositories', { path: checkout, base: 'main' }).then(() => undefined);
    case 'trust':
      return crew.send('PUT', '/api/repositories/app/trust', {}, { proof: true }).then(() => undefined);
    case 'run':
    case 'run-with-changes': {
      const steps = [
        ['write', at % 3 === 0 ? 'greeting.txt' : `landed-${at}.txt`, `hello ${at}\n`],
        ['commit', `Change ${at}`],
        ['done', 'changed'],
      ] as const;
      const request = crew.request(`Change ${at}`, steps as never, [['done', 'nothing more']]);
      const body = { repository: checkout, request, withChanges: kind === 'run-with-changes' };
      const { status, body: run } = await crew.send('POST', '/api/runs', body);
      if (status < 300) world.runs.push(run); // a detached HEAD or a full fleet is refused, which is an answer too
      return undefined;
    }
    case 'land':
      return decide(world, 'approve');
    case 'refuse':
      return decide(world, 'refuse');
    case 'stop':
      return crew.calm();
    case 'revert': {
      const id = world.landed.at(-1);
      if (id) await crew.send('POST', `/api/landings/${id}/reverts`, { reason: 'tried' }, { proof: true });
      return undefined;
    }
    default:
      return undefined;
  }
}

/** Decides the oldest offered landing, if one comes within some seconds, and waits until everything after it is done. */
async function decide(world: World, verdict: 'approve' | 'refuse') {
  const isBusy = (await crew.get('/api/sessions?living=true&limit=1')).items.length > 0;
  const offer = await crew
    .until(
      'an offer',
      async () => (await crew.get('/api/decisions?kind=landing')).items.at(-1),
      isBusy ? 10_000 : 1_000,
    )
    .catch(() => undefined);
  if (!offer) return undefined;
  const answer = await crew.send('PUT', `/api/decisions/${offer.id}/verdict`, { verdict }, { proof: true });
  if (verdict === 'refuse' || answer.status >= 300) return undefined;
  return crew.until(
    'the landing and what followed',
    async () => {
      const landing = await crew.get(`/api/landings/${offer.subject.id}`);
      if (landing.state === 'landed' && landing.checkout !== null) {
        world.landed.push(landing.id);
        return landing;
      }
      // `waiting` again: the base had moved, and it is offered anew.
      return ['failed', 'refused', 'waiting'].includes(landing.state) ? { checkout: null } : undefined;
    },
    180_000,
  );
}

function without(state: Record<string, string>, skip: readonly string[]): Record<string, string> {
  return Object.fromEntries(
    Object.entries(state).filter(([path]) => !skip.some((one) => path === one || path.startsWith(`${one}/`))),
  );
}
