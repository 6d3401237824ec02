import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { type Crew, openCrew, type Step } from '../e2e/crew.ts';
import { folderState, git, makeDirtyRepository, makeNpmRepository } from '../repositories/index.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterAll(() => crew?.dispose());

/** An author's steps that end with a report. */
const greet = (text: string): Step[] => [
  ['write', 'greeting.txt', text],
  ['commit', 'Greet someone else'],
  ['done', 'greeted'],
];

describe('the main job on more repositories, without a file of ours (design 6 and 9)', () => {
  test('npm: checks do not run before the dependencies are installed', async () => {
    const repository = makeNpmRepository(join(crew.root, 'npm'));
    const run = await crew.run(
      repository,
      crew.request('Check the greeting by a program', [
        ['run', 'npm', 'test'],
        ['write', 'index.js', "const greet = require('greet');\n\nmodule.exports = (name) => greet(name);\n"],
        ['commit', 'A blank line'],
        ['done'],
      ]),
    );
    const landing = await crew.land(run);
    expect(landing.checks).toMatchObject([{ name: 'test', status: 'passed' }]);
    expect(git(repository, 'rev-parse', 'main')).toBe(landing.commit);
  });

  test('dirty tree: staged, unstaged, untracked and stashed work is not touched, and not taken along unasked', async () => {
    const repository = makeDirtyRepository(join(crew.root, 'dirty'));
    const before = folderState(repository);
    const run = await crew.run(repository, crew.request('Greet the sun', greet('hello sun\n')));
    expect(run.notIncluded.toSorted()).toEqual(['README.md', 'staged.txt', 'untracked.txt']);
    const landing = await crew.land(run);
    const followed = await crew.until('what followed', async () => {
      const view = await crew.get(`/api/landings/${landing.id}`);
      return view.checkout !== null && view;
    });
    expect(followed.checkout.effect).toBe('unchanged');
    expect(folderState(repository)).toEqual(before);
    expect(followed.checkout.command).toContain('git');
  });

  test('with changes: the uncommitted work goes along as a snapshot and stays where it is', async () => {
    const repository = makeDirtyRepository(join(crew.root, 'along'));
    const before = folderState(repository);
    const steps: Step[] = [['run', 'grep', '-q', 'Edited, not staged', 'README.md'], ...greet('hello snow\n')];
    const run = await crew.run(repository, crew.request('Greet the snow', steps), { withChanges: true });
    expect(run.notIncluded).toEqual([]);
    const pull = await crew.pullRequest(run);
    expect(pull.branch).toMatch(/^chantier\/turing\/issue-\d+$/);
    expect(folderState(repository)).toEqual(before);
  });
});
