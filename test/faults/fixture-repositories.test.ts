import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

import { type Crew, openCrew, type Step } from '../e2e/crew.ts';
import {
  folderState,
  git,
  giveTools,
  makeComposeRepository,
  makeDirtyRepository,
  makeDjangoRepository,
  makeHuskyRepository,
  makeLfsRepository,
  makeMakeRepository,
  makeNpmRepository,
  makePnpmRepository,
  makeProtectedRepository,
  makeRustRepository,
  makeShallowRepository,
  makeSubmoduleUser,
  personEnv,
} from '../repositories/index.ts';

let crew: Crew;
let hasCargo = false;
const walls: string[] = [];
beforeAll(async () => {
  crew = await openCrew({}, (instance) => {
    const tools = giveTools(join(instance.root, 'operator'));
    hasCargo = tools.hasCargo;
    instance.env.PATH = [...tools.path, instance.env.PATH].join(':');
  });
});
afterAll(async () => {
  process.stdout.write(`${walls.join('\n')}\n`);
  await crew?.dispose();
});

/** An author's steps that end with a report. */
const change = (path: string, text: string, ...before: Step[]): Step[] => [
  ...before,
  ['write', path, text],
  ['commit', 'A change'],
  ['done', 'changed'],
];

/** The main job on one repository: from the request to its end, no file of ours, at most three questions (design 10). */
async function mainJob(repository: string, steps: Step[], feedback: Step[] = []) {
  const name = repository.split('/').at(-1) ?? '';
  const began = performance.now();
  const run = await crew.run(repository, crew.request(`Change ${name}`, steps, feedback));
  expect(run.waitsFor, 'no question before the work starts').toBeNull();
  await crew.decision(run, 'landing', 180_000); // a virtual environment or a build takes its time
  const landing = await crew.land(run);
  walls.push(`main job on ${name}: ${((performance.now() - began) / 1000).toFixed(1)} s`);
  const asked = (await crew.events('decision.opened')).filter((event) => event.projectId === run.project.id);
  expect(asked.length).toBeGreaterThan(0);
  expect(asked.length).toBeLessThanOrEqual(3);
  expect(existsSync(join(repository, 'chantier.yml'))).toBe(false);
  expect(landing.checks.map((one: { status: string }) => one.status)).toEqual(landing.checks.map(() => 'passed'));
  onTestFinished(() => crew.calm());
  return { run, landing };
}

/** As `mainJob`, for repositories where it ends on the base; nothing but the landed files may have changed. */
async function mainJobOnBase(repository: string, steps: Step[], feedback: Step[] = []) {
  const before = folderState(repository, ['.git']);
  const { run, landing } = await mainJob(repository, steps, feedback);
  expect(git(repository, 'rev-parse', run.base)).toBe(landing.commit);
  const landed = git(repository, 'diff', '--name-only', run.baseCommit, landing.commit).split('\n');
  const after = folderState(repository, ['.git']);
  const changed = Object.keys({ ...before, ...after }).filter((path) => before[path] !== after[path]);
  expect(landed).toEqual(expect.arrayContaining(changed));
  return { run, landing, landed };
}

const at = (name: string): string => join(crew.root, name);

describe('the main job on twelve kinds of repository, without a line of YAML (design 10)', () => {
  test('pnpm monorepo: its packages are linked before an agent comes', async () => {
    const steps = change('packages/lib/index.js', 'exports.greet = (name) => `hello, ${name}`;\n', [
      'run',
      'pnpm',
      'test',
    ]);
    const { landing } = await mainJobOnBase(makePnpmRepository(at('pnpm')), steps);
    expect(landing.checks).toMatchObject([{ name: 'test' }]);
  });

  test('Django with PostgreSQL: the check has a server and a database of its own', async () => {
    const steps = change('shop/prices.py', 'def total(prices):\n    return sum(prices, 0)\n');
    await mainJobOnBase(makeDjangoRepository(at('django')), steps);
  });

  test('Rust workspace: it is built and tested with the cargo of the person', async ({ skip }) => {
    skip(!hasCargo, 'this machine has no cargo');
    const steps = change('crates/core/src/lib.rs', 'pub fn double(x: i32) -> i32 {\n    x + x\n}\n');
    await mainJobOnBase(makeRustRepository(at('rust')), steps);
  });

  test('plain make: a resumed author never works elsewhere than in its folder (sessions case 62), which goes after the landing (sessions case 59)', async () => {
    const own: Step = ['run', 'sh', '-c', 'test "$(pwd)" = "$CHANTIER_WORK_FOLDER"'];
    const steps = change('greeting.txt', 'hello FIXME\n', own);
    const { run } = await mainJobOnBase(
      makeMakeRepository(at('make')),
      steps,
      change('greeting.txt', 'hello make\n', own),
    );
    const session = await crew.session(run);
    const folder = crew.workFolder(session);
    await crew.until('the work folder to be removed', async () => !existsSync(join(folder, '..')));
    expect((await crew.events('work-folder.removed')).length).toBeGreaterThan(0);
  });

  test('submodules: their files are there to read, nothing of them is fetched, changed or delivered', async () => {
    const repository = makeSubmoduleUser(at('submodules'));
    const inner = folderState(join(repository, '.git', 'modules'));
    const steps = change('greeting.txt', 'hello lib\n', ['run', 'make', 'check']);
    const { landed } = await mainJobOnBase(repository, steps);
    expect(landed).toEqual(['greeting.txt']);
    expect(folderState(join(repository, '.git', 'modules'))).toEqual(inner);
  });

  test('git-lfs: content in the place of a pointer does not land; no filter is run by the server', async () => {
    const repository = makeLfsRepository(at('lfs'));
    const damaged: Step[] = [['write', 'logo.png', 'not a pointer\n'], ...change('greeting.txt', 'hello logo\n')];
    const mended: Step[] = [
      ['run', 'git', 'checkout', '--quiet', 'HEAD~1', '--', 'logo.png'],
      ['commit', 'Put the pointer back'],
      ['done', 'mended'],
    ];
    const { run, landing } = await mainJob(repository, damaged, mended);
    expect(git(landingRepository(run), 'diff', '--name-only', run.baseCommit, landing.commit)).toBe('greeting.txt');
    const red = (await crew.events('landing.failed')).filter((event) =>
      JSON.stringify(event).includes('checks_failed'),
    );
    expect(red).toHaveLength(1);
    expect(existsSync(`${repository}-filter-ran`)).toBe(false);
  });

  test('husky: hooks run when an agent commits, inside the sandbox and nowhere else', async () => {
    const repository = makeHuskyRepository(at('husky'));
    const steps: Step[] = [
      ['write', 'greeting.txt', 'hello hook\n'],
      ['commit', 'A change'],
      ['run', 'sh', '-c', 'git log -1 --format=%B | grep -q "Hooked-by: husky"'],
      ['done', 'changed'],
    ];
    await mainJobOnBase(repository, steps);
    expect(existsSync(`${repository}-hook-ran`)).toBe(false);
  });

  test('compose: each folder has a project name and a port, which are free again afterwards', async () => {
    const repository = makeComposeRepository(at('compose'));
    const names = 'test -n "$PORT" && test -n "$COMPOSE_PROJECT_NAME" && test -n "$CHANTIER_DATABASE_NAME"';
    const { run } = await mainJobOnBase(repository, change('greeting.txt', 'hello port\n', ['run', 'sh', '-c', names]));
    const leased = (await crew.events('work-folder.ports-leased')).map((event) => event.facts.ports.default);
    expect(leased.length).toBeGreaterThan(1);
    expect(run.project.id).toBeTruthy();
    const store = new DatabaseSync(join(crew.home, 'chantier.db'), { readOnly: true });
    onTestFinished(() => store.close());
    await crew.until(
      'all ports to be given back',
      async () => store.prepare('select * from port_lease').all().length === 0,
    );
  });

  test('dirty tree: what a person has in hand stays theirs', async () => {
    const repository = makeDirtyRepository(at('dirty-tree'));
    const before = folderState(repository);
    const { landing } = await mainJob(repository, change('greeting.txt', 'hello dirt\n'));
    expect(landing.state).toBe('landed');
    expect(folderState(repository)).toEqual(before);
  });

  test('shallow clone: the change lands on a history that is cut off', async () => {
    const repository = makeShallowRepository(at('shallow'));
    const { landing } = await mainJob(repository, change('greeting.txt', 'hello shallow\n'));
    expect(landing.mode).toBe('branch');
  });

  test('no remote: npm with its lockfile, landed on the base', async () => {
    const steps = change('index.js', "const greet = require('greet');\n\nmodule.exports = (name) => greet(name);\n");
    await mainJobOnBase(makeNpmRepository(at('no-remote')), steps);
  });

  test('protected main: nothing is pushed; the reviewed branch is, by the printed command', async () => {
    const repository = makeProtectedRepository(at('protected'));
    const remote = `${repository}-remote.git`;
    const before = [folderState(repository), folderState(remote)];
    const { landing } = await mainJob(repository, change('greeting.txt', 'hello guard\n'));
    expect(landing.mode).toBe('branch');
    expect([folderState(repository), folderState(remote)]).toEqual(before);
    const main = git(remote, 'rev-parse', 'main');
    for (const command of landing.commands)
      execFileSync('/bin/sh', ['-c', command], { cwd: repository, env: personEnv, stdio: 'pipe' });
    expect(git(remote, 'rev-parse', 'main')).toBe(main);
    const pushed = git(remote, 'for-each-ref', '--format=%(objectname) %(refname)', 'refs/heads');
    expect(pushed).toContain(landing.commit);
  });
});

/** The bare repository of the forge that a run's repository has. */
function landingRepository(run: { repositoryId: string }): string {
  return join(crew.home, 'forge', `${run.repositoryId}.git`);
}
