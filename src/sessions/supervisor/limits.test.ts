import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, it } from 'vitest';

import { fakeAgent } from '../../../test/agents/agent-world.ts';
import { mustOk, newId, ok } from '../../kernel/index.ts';
import { readAccount, readLimitedAccounts, reopenAccount } from '../account-limits.ts';
import { supervisedWorld } from './testing.ts';

const shared = 'log-in:claude-code';

/** Agents whose account is limited as long as `limit` was called and `lift` was not. All of them use one account. */
async function setup(words: string) {
  const folder: { path?: string } = {};
  const file = () => join(folder.path ?? '', 'limit.txt');
  const world = await supervisedWorld({
    firstPrompt: 'Do the work.',
    plan: async (session, plan) =>
      ok({
        ...plan,
        account: shared,
        wrap: async (given) => fakeAgent(session.agent, { ...given, LIMIT_FILE: file() }),
      }),
  });
  folder.path = join(world.sessionsFolder, '..');
  writeFileSync(file(), words);
  const account = async () =>
    world.store.read.selectFrom('account_limit').selectAll().where('account', '=', shared).executeTakeFirst();
  return {
    world,
    account,
    lift: () => rmSync(file()),
    /** Starts `count` sessions and waits until each of them was limited and its process is gone. */
    async limited(count: number): Promise<string[]> {
      const ids: string[] = [];
      for (let n = 1; n <= count; n += 1) ids.push(await world.start('limited-while', `PD-${n}`));
      for (const id of ids)
        await world.when(id, (row) => row.state === 'PAUSED' && row.process === 'ended', `the limit of ${id}`);
      return ids;
    },
    /** Lets the time of the account and of its sessions pass. */
    async pass(): Promise<void> {
      await world.store.tx(async (tx) => {
        await tx.db.updateTable('account_limit').set({ limited_until: tx.now }).execute();
        await tx.db.updateTable('session').set({ limited_until: tx.now }).where('state', '=', 'PAUSED').execute();
      });
    },
    rows: (ids: string[]) => Promise.all(ids.map((id) => world.row(id))),
  };
}

it('a provider limit pauses with a flag, ends the generation on purpose, and the same conversation goes on afterwards (design 7, field case 74)', async () => {
  const { world, limited, lift, pass } = await setup('You have reached your usage limit; try again in 90 s');
  const [id = ''] = await limited(1);
  const paused = await world.row(id);
  expect(paused).toMatchObject({ state: 'PAUSED', reason: 'limited', account: shared });
  expect(paused.limited_until).toBeGreaterThan(Date.now() + 60_000);
  expect(world.calls.ended).toEqual([]);
  expect(world.pids(paused)).toEqual([]);
  expect(await world.store.read.selectFrom('decision_request').selectAll().execute()).toEqual([]);
  lift();
  await pass();
  const again = await world.when(id, (each) => each.generation === 2 && each.live_at !== null, 'the next generation');
  expect(again).toMatchObject({ conversation_id: 's-1', resume_conversation_id: 's-1' });
});

it('sessions of one account share its breaker, other accounts stay free, and a restart forgets nothing (design 7)', async () => {
  const { world, limited, account } = await setup('429 Too Many Requests');
  await limited(2);
  const now = Date.now();
  expect(await readAccount(world.store.read, shared, now)).toMatchObject({ kind: 'limited', reason: 'rate' });
  expect(await readAccount(world.store.read, 'log-in:codex', now)).toEqual({ kind: 'free' });
  expect(await account()).toMatchObject({ strikes: 1 });
  await world.restart();
  expect(await readLimitedAccounts(world.store.read, now)).toMatchObject([{ account: shared, reason: 'rate' }]);
});

it('after the limit one session tries the account; while it is refused no other one is started, and each strike waits longer (field case 70)', async () => {
  const { world, limited, account, pass, rows, lift } = await setup('429 Too Many Requests');
  const ids = await limited(3);
  const first = (await account())!;
  await pass();
  await world.until(async () => ((await account())?.strikes ?? 0) === 2, 'the second strike');
  const second = (await account())!;
  expect(second.limited_until! - second.updated_at).toBeGreaterThan(first.limited_until! - first.updated_at);
  const generations = (await rows(ids)).map((row) => row.generation);
  expect(generations.toSorted()).toEqual([1, 1, 2]);
  for (const row of await rows(ids))
    await world.when(row.id, (each) => each.process === 'ended' && each.limited_until! > Date.now(), 'its rest');
  lift();
  await pass();
  for (const id of ids)
    await world.when(id, (row) => row.state === 'RUNNING' && row.live_at !== null, `${id} to go on`);
  expect(await account()).toBeUndefined();
});

it('a bill is one decision for the account; after the human settled it one session goes first and the others follow (design 7)', async () => {
  const { world, limited, account, rows, lift } = await setup('Your credit balance is too low');
  const ids = await limited(2);
  expect((await rows(ids)).map((row) => row.limited_until)).toEqual([null, null]);
  const decisions = await world.store.read.selectFrom('decision_request').selectAll().execute();
  expect(decisions).toMatchObject([{ kind: 'provider_limit', subject_id: shared, state: 'open', count: 2 }]);
  await world.store.tx((tx) => reopenAccount(tx, shared));
  await world.until(async () => (await account())?.limited_until === null, 'the account to refuse again');
  expect((await rows(ids)).map((row) => row.generation).toSorted()).toEqual([1, 2]);
  lift();
  await world.store.tx((tx) => reopenAccount(tx, shared));
  for (const id of ids) await world.when(id, (row) => row.state === 'RUNNING' && row.live_at !== null, 'going on');
  const open = await world.store.read
    .selectFrom('decision_request')
    .select('state')
    .where('state', '=', 'open')
    .execute();
  expect(open).toEqual([]);
});

it('a human may resume one limited session before its time: it tries the account, the others wait for what comes of it', async () => {
  const { world, limited, account, rows } = await setup('You have reached your usage limit; try again in 90 s');
  const ids = await limited(2);
  const work = (await world.row(ids[0]!)).work_key;
  mustOk(await world.run('resume', { workKey: work, key: newId() }));
  await world.until(async () => ((await account())?.strikes ?? 0) === 2, 'the second strike');
  expect((await rows(ids)).map((row) => row.generation)).toEqual([2, 1]);
});

it('an agent that is not logged in is asked about once, with what to run, and nothing more is started on its account', async () => {
  const world = await supervisedWorld({
    profile: { logIn: '`codex login`' },
    plan: async (_session, plan) => ok({ ...plan, account: 'log-in:codex' }),
  });
  const id = await world.start('wants-log-in');
  expect(await world.inState(id, 'START_FAILED')).toMatchObject({ reason: 'auth_required' });
  const [decision] = await world.store.read.selectFrom('decision_request').selectAll().execute();
  expect(decision).toMatchObject({ kind: 'provider_limit', subject_id: 'log-in:codex', state: 'open' });
  expect(decision?.detail).toContain('not logged in: run `codex login`');
  const state = await readAccount(world.store.read, 'log-in:codex', Date.now());
  expect(state).toEqual({ kind: 'limited', until: null, reason: 'auth' });
});

it('a time beyond any plan’s window is not believed: no agent can close its account for years', async () => {
  const { limited, account } = await setup('You have reached your usage limit; try again in 300 days');
  await limited(1);
  expect((await account())?.limited_until).toBeLessThan(Date.now() + 9 * 86_400_000);
});
