import { join } from 'node:path';

import { expect, test } from 'vitest';

import { makeMakeRepository, openForgeWorld, operator } from '../../test/repositories/index.ts';
import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import type { Store } from '../store/index.ts';
import {
  checkRunsOf,
  configureRepository,
  detectRepository,
  listBaseMoves,
  listWorkFolders,
  markWorkFolder,
  preparedBaseMoves,
  prepareBaseMove,
  recordCheckRun,
  recordRescue,
  recordWorkFolder,
  registerRepository,
  repositoryByPath,
  settleBaseMove,
  takeBranchNumber,
  trustRepository,
} from './index.ts';

const commit = (letter: string): string => letter.repeat(40);

async function kinds(store: Store): Promise<string[]> {
  return (await store.read.selectFrom('event').select('kind').orderBy('ord').execute()).map((row) => row.kind);
}

eachStore((_, open) => {
  async function setup() {
    const { store } = await open();
    const { forge, folder } = await openForgeWorld();
    const checkout = makeMakeRepository(join(folder, 'app'));
    const detected = mustOk(await detectRepository(forge, checkout));
    const register = () =>
      store.tx((tx) => registerRepository(tx, { detected, forgeFolder: forge.folders.forge, actor: operator }));
    return { store, detected, register, repository: mustOk(await register()) };
  }

  test('a checkout is registered once, untrusted, and found by its path', async () => {
    const { store, detected, register, repository } = await setup();
    expect(mustOk(await register()).id).toBe(repository.id);
    expect(await repositoryByPath(store.read, detected.checkout.top)).toEqual(repository);
    expect(repository).toMatchObject({ isTrusted: false, mode: 'base', base: 'main', latest: { source: 'inferred' } });
    expect(await kinds(store)).toEqual(['repository.registered']);
  });

  test('trust binds to the digest that was seen; a changed configuration governs nothing before it is trusted too (design 4)', async () => {
    const { store, repository } = await setup();
    const trust = (digest: string) =>
      store.tx((tx) => trustRepository(tx, { id: repository.id, digest, actor: operator }));
    expect(await trust('other')).toMatchObject({ refusal: { code: 'stale_digest' } });
    const read = repository.latest.config;
    expect(repository.config).toMatchObject({ workspace: { setup: [] }, checks: [] });
    expect(mustOk(await trust(repository.latest.digest))).toMatchObject({ isTrusted: true, config: read });
    const config = { ...read, checks: 'none' as const, land: { auto: 'medium' as const, method: 'squash' as const } };
    const configure = () =>
      store.tx((tx) => configureRepository(tx, { id: repository.id, config, source: 'file', actor: operator }));
    const changed = mustOk(await configure());
    expect(changed).toMatchObject({ isTrusted: true, isLatestTrusted: false, latest: { config } });
    expect(changed.config).toEqual(read);
    mustOk(await configure());
    expect(await trust(repository.latest.digest)).toMatchObject({ refusal: { code: 'stale_digest' } });
    expect(await kinds(store)).toEqual(['repository.registered', 'repository.trusted', 'repository.configured']);
    expect(mustOk(await trust(changed.latest.digest)).config).toEqual(config);
  });

  test('what the operator said is kept when the checkout is read again, over a file as well (design 8)', async () => {
    const { store, detected, repository } = await setup();
    const register = (more: Partial<Parameters<typeof registerRepository>[1]>) =>
      store.tx((tx) => registerRepository(tx, { detected, forgeFolder: '/f', actor: operator, ...more }));
    const said = mustOk(await register({ words: { checks: 'none' } }));
    expect(said.latest).toMatchObject({ source: 'operator', config: { checks: 'none' } });
    expect(mustOk(await register({})).latest).toEqual(said.latest);
    const more = mustOk(await register({ words: { setup: [['make', 'deps']] } }));
    expect(more.latest.config).toMatchObject({ checks: 'none', workspace: { setup: [['make', 'deps']] } });
    const land = { auto: 'low' as const, method: 'squash' as const };
    const withFile = { ...detected, config: { ...detected.config, land }, configSource: 'file' as const };
    const fromFile = mustOk(await register({ detected: withFile }));
    expect(fromFile.latest).toMatchObject({ source: 'file', config: { checks: 'none', land } });
    expect(mustOk(await register({})).latest).toEqual(more.latest);
    expect(repository.isTrusted).toBe(false);
  });

  test('each branch number is given once', async () => {
    const { store, repository } = await setup();
    const numbers = await Promise.all([1, 2, 3].map(() => store.tx((tx) => takeBranchNumber(tx, repository.id))));
    expect(numbers.map(mustOk).toSorted((a, b) => a - b)).toEqual([1, 2, 3]);
    expect(await store.tx((tx) => takeBranchNumber(tx, 'none'))).toMatchObject({
      refusal: { code: 'repository_not_found' },
    });
  });

  test('each base commit has one row: prepared before the compare-and-set, settled once', async () => {
    const { store, repository } = await setup();
    const prepare = (to: string) =>
      store.tx((tx) =>
        prepareBaseMove(tx, {
          repositoryId: repository.id,
          kind: 'landing',
          landingId: 'l1',
          from: commit('a'),
          to,
          actor: operator,
        }),
      );
    const move = await prepare(commit('b'));
    expect(await prepare(commit('b'))).toEqual(move);
    expect(await preparedBaseMoves(store.read)).toEqual([move]);
    const settle = (state: 'done' | 'lost') =>
      store.tx((tx) => settleBaseMove(tx, { id: move.id, state, actor: operator }));
    expect(mustOk(await settle('done')).state).toBe('done');
    expect(mustOk(await settle('done')).state).toBe('done');
    expect(await settle('lost')).toMatchObject({ refusal: { code: 'base_move_settled' } });
    await store.tx((tx) =>
      prepareBaseMove(tx, {
        repositoryId: repository.id,
        kind: 'sync',
        from: commit('b'),
        to: commit('c'),
        actor: operator,
      }),
    );
    expect((await listBaseMoves(store.read, repository.id)).map(({ kind, state }) => [kind, state])).toEqual([
      ['landing', 'done'],
      ['sync', 'prepared'],
    ]);
    expect(await kinds(store)).toEqual([
      'repository.registered',
      'base.move-prepared',
      'base.moved',
      'base.move-prepared',
    ]);
  });

  test('a work folder is recorded once, moves on, keeps its rescue refs, and stays removed', async () => {
    const { store, repository } = await setup();
    const request = {
      repositoryId: repository.id,
      ownerKey: 's1',
      purpose: 'author',
      path: '/w/s1',
      branch: 'b',
      startCommit: commit('a'),
      actor: operator,
    } as const;
    const recorded = await store.tx((tx) => recordWorkFolder(tx, request));
    expect(await store.tx((tx) => recordWorkFolder(tx, request))).toEqual(recorded);
    const mark = (state: 'created' | 'ready' | 'removed', rescueRefs?: string[]) =>
      store.tx((tx) =>
        markWorkFolder(tx, { ownerKey: 's1', state, actor: operator, ...(rescueRefs ? { rescueRefs } : {}) }),
      );
    mustOk(await mark('ready'));
    mustOk(await mark('ready'));
    await store.tx((tx) => recordRescue(tx, { ownerKey: 's1', refs: ['refs/chantier/rescue/1'], actor: operator }));
    expect(mustOk(await mark('removed', ['refs/chantier/rescue/2'])).rescueRefs).toEqual([
      'refs/chantier/rescue/1',
      'refs/chantier/rescue/2',
    ]);
    expect(mustOk(await mark('created')).state).toBe('removed');
    expect(await listWorkFolders(store.read, repository.id)).toEqual([]);
    expect(await kinds(store)).toEqual([
      'repository.registered',
      'work-folder.created',
      'work-folder.ready',
      'work-folder.saved',
      'work-folder.removed',
    ]);
  });

  test('results of checks are recorded once, with one event of counts', async () => {
    const { store, repository } = await setup();
    const results = (['passed', 'failed'] as const).map((status, at) => ({
      name: `c${at}`,
      status,
      exitCode: at,
      durationMs: 5,
      logPath: '/l',
      tail: 'free text',
      definitionDigest: 'd',
    }));
    const report = { said: 'checks', commit: commit('a'), results, allPassed: false } as const;
    const record = () =>
      store.tx((tx) =>
        recordCheckRun(tx, {
          repositoryId: repository.id,
          key: 'k',
          report: { ...report, results: [...results] },
          actor: operator,
        }),
      );
    await record();
    await record();
    expect(await checkRunsOf(store.read, 'k')).toMatchObject([
      { name: 'c0', status: 'passed' },
      { name: 'c1', status: 'failed', exitCode: 1 },
    ]);
    expect(await kinds(store)).toEqual(['repository.registered', 'checks.finished']);
    const facts = await store.read
      .selectFrom('event')
      .select('facts')
      .where('kind', '=', 'checks.finished')
      .executeTakeFirst();
    expect(facts?.facts).not.toContain('free text');
  });
});
