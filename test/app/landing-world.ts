import { join } from 'node:path';

import { baseTip, type Repository, repositoryById, takeBranch, trustRepository } from '../../src/forge/index.ts';
import { mustOk } from '../../src/kernel/index.ts';
import { registerAgent } from '../../src/ledger/index.ts';
import { type PullRequest, readPullRequest } from '../../src/review/index.ts';
import { operator, reviewWorld, server } from '../../src/review/testing.ts';
import { addUser } from '../../src/app/access/users.ts';
import { registerCheckout } from '../../src/app/repositories/register-repository.ts';
import { openTestSqlite } from '../../src/store/testing.ts';
import { commitAll, makeRepository, openAuthorFolder, writeFiles } from '../repositories/index.ts';
import { openAppWorld } from './app-context.ts';

/** A registered repository with an operator and one reviewer, and changes that are approved in it. */
export async function openLandingWorld(files: Record<string, string> = { Makefile: 'check:\n\ttrue\n' }) {
  const { store, clock } = await openTestSqlite();
  const world = await openAppWorld(store);
  const { ctx, forge, inside, folder, caller } = world;
  const checkout = makeRepository(join(folder, 'app'), files);
  const registered = mustOk(await registerCheckout(ctx, caller(), { path: checkout }));
  const review = reviewWorld(store);
  mustOk(
    await addUser(store, { name: 'olga', role: 'operator', passphrase: 'correct horse battery' }, server, { cost: 4 }),
  );
  const addReviewer = (codename: string, family: string) => {
    const entry = { codename, family, roles: ['reviewer'], driver: 'acp', command: ['/bin/true'] } as const;
    const agent = { ...entry, roles: [...entry.roles], command: [...entry.command] };
    return store.tx(async (tx) => mustOk(await registerAgent(tx, agent, { actor: server, source: 'operator' })));
  };
  await addReviewer('mitnick', 'codex');
  let count = 0;
  const repository = async (): Promise<Repository> =>
    (await repositoryById(store.read, registered.repository.id)) as Repository;
  return {
    ...world,
    store,
    clock,
    checkout,
    review,
    addReviewer,
    /** A human trusts the configuration as it is now. */
    async trust(): Promise<void> {
      const repo = await repository();
      const request = { id: repo.id, digest: repo.latest.digest, actor: operator };
      mustOk(await store.tx((tx) => trustRepository(tx, request)));
    },
    repository,
    /** Commits in the operator's checkout. */
    commit(changed: Record<string, string>): string {
      writeFiles(checkout, changed);
      return commitAll(checkout, 'By the operator');
    },
    /** A change of these files that a reviewer approved. */
    async approved(changed: Record<string, string>): Promise<PullRequest> {
      const repo = await repository();
      const base = (await baseTip(forge, repo)) as string;
      const branch = `chantier/turing/issue-${++count}`;
      const place = await openAuthorFolder({ forge, inside }, repo, base, { ownerKey: `s${count}`, branch });
      writeFiles(place.clone, changed);
      commitAll(place.clone, 'A change');
      const { commit } = mustOk(await takeBranch(forge, repo, place, inside));
      return review.approved({ repositoryId: repo.id, branch, headSha: commit, baseSha: base });
    },
    read: async (id: string): Promise<PullRequest> => (await readPullRequest(store.read, id)) as PullRequest,
    decisions: () =>
      store.read
        .selectFrom('decision_request')
        .select(['id', 'kind', 'count', 'dedupe_key', 'detail'])
        .where('state', '=', 'open')
        .execute(),
  };
}
