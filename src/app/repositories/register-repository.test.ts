import { rmSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { openAppWorld } from '../../../test/app/app-context.ts';
import { commitAll, makeRepository, writeFiles } from '../../../test/repositories/index.ts';
import { trustRepository } from '../../forge/index.ts';
import { mustOk } from '../../kernel/index.ts';
import { openTestSqlite } from '../../store/testing.ts';
import type { RegisterRequest } from '../../wire/index.ts';
import { registerCheckout, trustOrAsk } from './register-repository.ts';

const makefile = { Makefile: 'check:\n\ttrue\n' };
const trusting = 'version: 1\nchecks: [{ name: file, run: [make, check] }]\n';
const hostile = 'version: 1\nchecks: none\nland: { auto: medium }\n';

async function setup(files: Record<string, string>, options: { holds?: boolean } = {}) {
  const { store } = await openTestSqlite();
  const { ctx, caller, folder } = await openAppWorld(store, options);
  const checkout = makeRepository(join(folder, 'app'), files);
  const register = async (words: Partial<RegisterRequest> = {}, proof?: 'fresh') =>
    mustOk(await registerCheckout(ctx, caller(proof), { path: checkout, ...words }));
  const commit = (changed: Record<string, string>): void => {
    writeFiles(checkout, changed);
    commitAll(checkout, 'Change');
  };
  const open = () =>
    store.read.selectFrom('decision_request').select(['id', 'count']).where('state', '=', 'open').execute();
  const trust = async (): Promise<void> => {
    const { repository } = await register();
    const request = { id: repository.id, digest: repository.latest.digest, actor: caller().actor };
    mustOk(await store.tx((tx) => trustRepository(tx, request)));
  };
  return { ctx, caller, checkout, register, commit, open, trust };
}

test('a pulled chantier.yml opens the decision, and the trusted configuration goes on (design 4)', async () => {
  const { ctx, caller, register, commit, open, trust } = await setup({ ...makefile, 'chantier.yml': trusting });
  const first = await register();
  expect(first).toMatchObject({ repository: { isTrusted: false, config: { checks: [] } } });
  expect(first.decisionId).toBeDefined();
  await trust();
  commit({ 'chantier.yml': hostile });
  const again = await register();
  expect(again.repository).toMatchObject({ isTrusted: true, isLatestTrusted: false });
  expect(again.repository.config.checks).toMatchObject([{ name: 'file' }]);
  expect(again.repository.config.land).toBeUndefined();
  expect(again.decisionId).not.toBe(first.decisionId);
  await register();
  expect(await trustOrAsk(ctx, caller().actor, again.repository)).toMatchObject({
    value: { decisionId: again.decisionId },
  });
  expect(await open()).toEqual([{ id: again.decisionId, count: 1 }]);
  commit({ 'chantier.yml': trusting });
  expect((await register()).decisionId).toBeUndefined();
  expect(await open()).toEqual([]);
});

test('own words over a file wait for trust, with the passphrase or without', async () => {
  const { register, trust } = await setup({ ...makefile, 'chantier.yml': trusting });
  expect((await register({ checks: [] }, 'fresh')).repository.isTrusted).toBe(false);
  await trust();
  const more = await register({ setup: [['true']] });
  expect(more.repository).toMatchObject({ isLatestTrusted: false, config: { workspace: { setup: [] } } });
});

test('a file that goes away does not take its rules along unasked', async () => {
  const { checkout, register, commit, trust } = await setup({
    ...makefile,
    'chantier.yml': `${trusting}policy: { preset: locked }\n`,
  });
  await trust();
  rmSync(join(checkout, 'chantier.yml'));
  commit({});
  expect((await register()).repository.config.policy).toMatchObject({ preset: 'locked' });
});

test('inferred configuration and own words are trusted where the sandbox holds, and kept over re-runs (design 8)', async () => {
  const { register } = await setup(makefile);
  expect((await register()).repository.config.checks).toMatchObject([{ name: 'check' }]);
  expect((await register({ checks: [] })).repository.config.checks).toBe('none');
  const again = await register();
  expect(again).toMatchObject({ decisionId: undefined, repository: { isLatestTrusted: true } });
  expect(again.repository.config.checks).toBe('none');
});

test('without a sandbox that holds, own words count once the passphrase came with them', async () => {
  const { register } = await setup(makefile, { holds: false });
  expect((await register()).repository.isTrusted).toBe(false);
  expect((await register({ checks: [] })).repository.isTrusted).toBe(false);
  expect((await register({ checks: [] }, 'fresh')).repository.config.checks).toBe('none');
});

test('a .worktreeinclude that names more of the operator’s files never governs unasked; fewer is no question', async () => {
  const { register, commit, open } = await setup({ ...makefile, '.worktreeinclude': '*.local\n' });
  expect((await register()).repository.config.workspace.include).toEqual(['*.local']);
  commit({ '.worktreeinclude': '*.local\n.env\n' });
  const more = await register();
  expect(more.decisionId).toBeDefined();
  expect(more.repository).toMatchObject({ isLatestTrusted: false, config: { workspace: { include: ['*.local'] } } });
  expect(await open()).toHaveLength(1);
  commit({ '.worktreeinclude': '# none\n' });
  expect(await register()).toMatchObject({ decisionId: undefined, repository: { isLatestTrusted: true } });
});
