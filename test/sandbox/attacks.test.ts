import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { beforeAll, describe, expect, test } from 'vitest';

import { openSandbox } from '../../src/sandbox/index.ts';
import { attacks, weakened, weakenedRootFiles, type Weakening } from './attack-table.ts';

const isRoot = process.getuid?.() === 0;
const { report } = await openSandbox({ mode: 'auto' });
const cannot = report.driver === 'bubblewrap' && report.holds ? '' : `: not run, ${report.cause}`;
const needsPerl = existsSync('/usr/bin/perl') ? '' : ': not run, perl is missing';

/** Each attack as the ordinary user `nobody` and, where these tests run as root, with a root server. */
type User = 'user' | 'root';
const users: readonly User[] = isRoot ? ['user', 'root'] : ['user'];
const weakenings = Object.keys(weakened) as Weakening[];

describe.skipIf(cannot || needsPerl)(`the wall${cannot}${needsPerl}`, () => {
  const runs = new Map<User, Promise<readonly Outcome[]>>();
  beforeAll(() => {
    for (const user of users) runs.set(user, runAttacks(user));
  });
  for (const user of users) {
    const outcomeOf = async (plan: number): Promise<Outcome> => (await runs.get(user)!)[plan]!;

    describe(user === 'root' ? 'of a root server' : 'of an ordinary user', () => {
      for (const attack of attacks) {
        test(`holds off ${attack.name} (group ${attack.group})`, async () => {
          const { results } = await outcomeOf(0);
          expect(results[attack.name]).toEqual({ through: false, saw: expect.any(String) });
        });
      }

      test('all are tried to the end (X-3, X-4, X-5, X-6; sandbox attacks 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14)', async () => {
        const { results } = await outcomeOf(0);
        expect(Object.keys(results)).toEqual(expect.arrayContaining([...attacks.map(({ name }) => name), 'end']));
        expect(Object.values(results).filter(({ through }) => through)).toEqual([]);
      });

      test('outside, nothing changed and nobody ended (sandbox attacks 1, 3)', async () => {
        const { results, unchanged } = await outcomeOf(0);
        expect(results.end).toBeDefined();
        expect(unchanged).toBe(true);
      });

      for (const [index, weakening] of weakenings.entries()) {
        const biting = bitingFor(user, weakening);
        test(`is what holds: without ${weakened[weakening].join(', ')} these get through: ${biting.join(', ')}`, async () => {
          const { results } = await outcomeOf(index + 1);
          const through = Object.entries(results).flatMap(([name, { through: got }]) => (got ? [name] : []));
          expect(through).toEqual(expect.arrayContaining([...biting]));
        });
      }
    });
  }
});

interface Outcome {
  results: Record<string, { through: boolean; saw: string }>;
  unchanged: boolean;
}

/** All attacks with the whole wall first, then for each weakening those that it lets through. */
async function runAttacks(user: User): Promise<readonly Outcome[]> {
  const plans = [
    { without: [], only: [] },
    ...weakenings.map((weakening) => ({
      without: user === 'root' && weakening === 'files' ? weakenedRootFiles : weakened[weakening],
      only: bitingFor(user, weakening),
    })),
  ];
  const identity = isRoot && user === 'user' ? { uid: 65_534, gid: 65_534 } : {};
  const options = { env: { PATH: process.env.PATH }, cwd: '/', timeout: 60_000, ...identity };
  const args = [join(import.meta.dirname, 'run-attacks.ts'), ...plans.map((plan) => JSON.stringify(plan))];
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  return stdout
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Outcome);
}

function bitingFor(user: User, weakening: Weakening): readonly string[] {
  return attacks.filter((attack) => attack[user] === weakening).map(({ name }) => name);
}
