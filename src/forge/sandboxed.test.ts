import { execFileSync } from 'node:child_process';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, test } from 'vitest';

import {
  adoptRepository,
  git,
  makeNpmRepository,
  openAuthorFolder,
  openForgeWorld,
  turing,
  vectors,
  writeFiles,
} from '../../test/repositories/index.ts';
import { mustOk } from '../kernel/index.ts';
import { openSandbox, runInSandbox } from '../sandbox/index.ts';
import {
  baseTip,
  buildCandidate,
  createWorkFolder,
  inspectWorkFolder,
  prepareWorkFolder,
  removeWorkFolder,
  runChecks,
  takeBranch,
  workFolderEnvironment,
  workFolderProfile,
} from './index.ts';

const { sandbox, report } = await openSandbox({ mode: 'auto' });
const title = sandbox ? `behind ${sandbox.driver}` : `behind a sandbox (did not run: ${report.cause})`;

describe.skipIf(!sandbox)(title, () => {
  async function setup() {
    if (!sandbox) throw new Error('skipped above');
    const world = await openForgeWorld({ sandbox });
    const repository = await adoptRepository(world, makeNpmRepository(join(world.folder, 'app')));
    return { ...world, sandbox, repository, tip: (await baseTip(world.forge, repository)) ?? '' };
  }

  test(
    'an agent’s git works in its clone, set-up and checks run, the branch comes back, nothing of the forge can be written',
    { timeout: 90_000 },
    async () => {
      const world = await setup();
      const { forge, repository, inside, tip } = world;
      const folder = await openAuthorFolder(world, repository, tip);
      expect(mustOk(await prepareWorkFolder(forge, repository, folder, inside)).how).toBe('ran');
      if (world.sandbox.owner)
        expect(
          statSync(join(folder.clone, 'README.md'), { throwIfNoEntry: false })?.uid ?? world.sandbox.owner.uid,
        ).toBe(world.sandbox.owner.uid);

      const env = workFolderEnvironment(folder, { identity: turing });
      const profile = workFolderProfile('author', repository, folder, { inside, env });
      const script = [
        'set -e',
        'test -d node_modules/greet',
        'echo "module.exports = (name) => require(\'greet\')(name);" > index.js',
        'git add --all && git commit --quiet -m "From inside"',
        'git fetch --quiet origin && git rev-parse origin/main',
        `if (echo x > ${repository.forgeDir}/objects/planted) 2>/dev/null; then exit 9; fi`,
        `if chmod -R u+w ${repository.forgeDir} 2>/dev/null; then exit 10; fi`,
        `if ls ${world.home}/scratch 2>/dev/null; then exit 11; fi`,
        'test -z "$(git status --porcelain)"',
      ].join('\n');
      const outcome = await runInSandbox(world.sandbox, profile, ['/bin/sh', '-c', script], { timeoutMs: 30_000 });
      expect(outcome).toMatchObject({ exitCode: 0, outputTail: `${tip}\n` });

      expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside))).toMatchObject({
        isClean: true,
        ahead: 1,
        isOnBranch: true,
      });
      const taken = mustOk(await takeBranch(forge, repository, folder, inside));
      expect(git(repository.forgeDir, 'log', '-1', '--format=%an %s', taken.commit)).toBe('turing From inside');
      const landing = {
        landingId: 'landing-1',
        head: taken.commit,
        method: 'squash',
        message: 'Change',
        author: turing,
        dateMs: 0,
      } as const;
      const candidate = mustOk(await buildCandidate(forge, repository, landing));
      const request = {
        ownerKey: 'landing-1',
        purpose: 'candidate',
        startCommit: candidate.commit,
        identity: turing,
        sandbox: world.sandbox,
      } as const;
      const place = await createWorkFolder(forge, repository, request);
      expect(mustOk(await prepareWorkFolder(forge, repository, place, inside)).how).toBe('from-cache');
      const checks = mustOk(
        await runChecks(forge, repository, place, {
          ...inside,
          key: 'k',
          commit: candidate.commit,
          changedPaths: ['index.js'],
        }),
      );
      expect(checks.results).toMatchObject([{ name: 'test', status: 'passed' }]);
      mustOk(await removeWorkFolder(forge, repository, place, inside));
      mustOk(await removeWorkFolder(forge, repository, folder, inside));
      expect(existsSync(folder.root)).toBe(false);
    },
  );

  test(
    'X-8: what is planted in a clone runs for nobody when the branch is taken and the work saved',
    { timeout: 60_000 },
    async () => {
      const world = await setup();
      const { forge, repository, inside, tip } = world;
      const folder = await openAuthorFolder(world, repository, tip);
      const canary = join(folder.clone, 'canary');
      writeFiles(folder.clone, { 'new.txt': 'new\n', 'canary/.gitignore': '*\n' });
      // Planted as the user inside, who owns the clone and may write all of it.
      giveTo(folder.clone, process.getuid?.() ?? 0);
      for (const vector of vectors) vector.plant(folder.clone, canary);
      if (world.sandbox.owner) giveTo(folder.clone, world.sandbox.owner.uid);
      expect(mustOk(await inspectWorkFolder(forge, repository, folder, inside)).dirty).toEqual(['new.txt']);
      mustOk(await takeBranch(forge, repository, folder, inside));
      expect(readdirSync(canary)).toEqual(['.gitignore']);
      expect(mustOk(await removeWorkFolder(forge, repository, folder, inside)).rescueRefs).toEqual([
        'refs/chantier/rescue/session-1/uncommitted',
      ]);
    },
  );
});

function giveTo(folder: string, uid: number): void {
  execFileSync('chown', ['-hR', String(uid), folder]);
}
