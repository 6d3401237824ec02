import type { CheckDefinition } from './repository-config.ts';

/** One thing that was inferred and why; shown once for confirmation. */
export interface Explanation {
  /** What: `npm ci`, `check test: npm test`. */
  what: string;
  /** Why: the file it follows from. */
  why: string;
}

/** Set-up and checks as far as the files of a repository tell. */
export interface InferredWorkspace {
  setup: string[][];
  cacheKey: string[];
  checks: CheckDefinition[];
  isCacheable: boolean;
  explanations: Explanation[];
}

/** Reads a file of the base commit; `undefined` when it is not there. */
export type ReadFile = (path: string) => Promise<string | undefined>;

/**
 * Infers set-up and checks from the lockfiles and manifests at the top of the base commit. Nothing is executed.
 * `files` are the names at the top. Every toolchain that is found adds its steps, in a fixed order.
 */
export async function inferWorkspace(files: ReadonlySet<string>, read: ReadFile): Promise<InferredWorkspace> {
  const inferred: InferredWorkspace = { setup: [], cacheKey: [], checks: [], isCacheable: true, explanations: [] };
  await inferNode(files, read, inferred);
  await inferPython(files, read, inferred);
  inferCompiled(files, inferred);
  await inferRuby(files, inferred);
  await inferMake(files, read, inferred);
  return inferred;
}

function addSetup(inferred: InferredWorkspace, command: string[], why: string, keys: string[]): void {
  inferred.setup.push(command);
  inferred.cacheKey.push(...keys);
  inferred.explanations.push({ what: `set-up: ${command.join(' ')}`, why });
}

function addCheck(inferred: InferredWorkspace, name: string, run: string[], why: string): void {
  if (inferred.checks.some((check) => check.name === name)) return;
  inferred.checks.push({ name, run, timeout: 600_000, maxOutput: 16 * 1024 ** 2, network: false });
  inferred.explanations.push({ what: `check ${name}: ${run.join(' ')}`, why });
}

async function inferNode(files: ReadonlySet<string>, read: ReadFile, inferred: InferredWorkspace): Promise<void> {
  if (!files.has('package.json')) return;
  const manifest = parseObject(await read('package.json'));
  const scripts = (manifest.scripts ?? {}) as Record<string, unknown>;
  const hasDependencies = ['dependencies', 'devDependencies', 'optionalDependencies', 'workspaces'].some(
    (key) => key in manifest,
  );
  const lock = nodeLock(files, manifest);
  const manager = lock?.manager ?? 'npm';
  if (lock) addSetup(inferred, lock.install, `${lock.file} is there`, ['package.json', lock.file]);
  else if (hasDependencies) {
    const install = ['npm', 'install', '--no-package-lock', '--no-audit', '--no-fund'];
    addSetup(inferred, install, 'package.json names dependencies and there is no lockfile', ['package.json']);
  }
  const test = scripts.test;
  const isPlaceholder = typeof test === 'string' && test.includes('no test specified');
  if (typeof test === 'string' && !isPlaceholder)
    addCheck(inferred, 'test', [manager, 'test'], 'package.json has a script test');
  else if (typeof scripts.check === 'string')
    addCheck(inferred, 'check', [manager, 'run', 'check'], 'package.json has a script check');
}

function nodeLock(
  files: ReadonlySet<string>,
  manifest: Record<string, unknown>,
): { manager: string; file: string; install: string[] } | undefined {
  const npm = ['npm', 'ci', '--no-audit', '--no-fund'];
  if (files.has('pnpm-lock.yaml'))
    return { manager: 'pnpm', file: 'pnpm-lock.yaml', install: ['pnpm', 'install', '--frozen-lockfile'] };
  if (files.has('yarn.lock')) {
    const isModern =
      files.has('.yarnrc.yml') ||
      (typeof manifest.packageManager === 'string' && /^yarn@[2-9]/.test(manifest.packageManager));
    return {
      manager: 'yarn',
      file: 'yarn.lock',
      install: ['yarn', 'install', isModern ? '--immutable' : '--frozen-lockfile'],
    };
  }
  for (const file of ['bun.lock', 'bun.lockb']) {
    if (files.has(file)) return { manager: 'bun', file, install: ['bun', 'install', '--frozen-lockfile'] };
  }
  for (const file of ['npm-shrinkwrap.json', 'package-lock.json'])
    if (files.has(file)) return { manager: 'npm', file, install: npm };
  return undefined;
}

async function inferPython(files: ReadonlySet<string>, read: ReadFile, inferred: InferredWorkspace): Promise<void> {
  const project = files.has('pyproject.toml') ? ((await read('pyproject.toml')) ?? '') : '';
  const isPython = ['pyproject.toml', 'requirements.txt', 'setup.py', 'setup.cfg', 'manage.py'].some((file) =>
    files.has(file),
  );
  if (!isPython) return;
  let runner: string[] = ['python3'];
  if (files.has('uv.lock')) {
    addSetup(inferred, ['uv', 'sync', '--frozen'], 'uv.lock is there', ['pyproject.toml', 'uv.lock']);
    runner = ['uv', 'run', '--frozen', 'python'];
  } else if (files.has('poetry.lock')) {
    addSetup(inferred, ['poetry', 'install', '--no-interaction'], 'poetry.lock is there', [
      'pyproject.toml',
      'poetry.lock',
    ]);
    runner = ['poetry', 'run', 'python'];
  } else if (files.has('requirements.txt')) {
    addSetup(inferred, ['python3', '-m', 'venv', '.venv'], 'requirements.txt is there', ['requirements.txt']);
    addSetup(inferred, ['.venv/bin/pip', 'install', '-r', 'requirements.txt'], 'requirements.txt is there', []);
    runner = ['.venv/bin/python'];
  }
  if (inferred.setup.some((command) => ['uv', 'poetry', 'python3'].includes(command[0] ?? '')))
    inferred.isCacheable = false;
  if (files.has('manage.py'))
    addCheck(inferred, 'test', [...runner, 'manage.py', 'test'], 'manage.py is there (Django)');
  else if (
    /pytest/.test(project) ||
    files.has('pytest.ini') ||
    files.has('conftest.py') ||
    /pytest/.test((await read('requirements.txt')) ?? '')
  )
    addCheck(inferred, 'test', [...runner, '-m', 'pytest', '-q'], 'pytest is configured');
  else if (files.has('tests') || files.has('test'))
    addCheck(inferred, 'test', [...runner, '-m', 'unittest', 'discover'], 'a folder of tests is there');
}

function inferCompiled(files: ReadonlySet<string>, inferred: InferredWorkspace): void {
  if (files.has('Cargo.toml')) {
    if (files.has('Cargo.lock'))
      addSetup(inferred, ['cargo', 'fetch', '--locked'], 'Cargo.lock is there', ['Cargo.toml', 'Cargo.lock']);
    addCheck(inferred, 'test', ['cargo', 'test', '--offline'], 'Cargo.toml is there');
  }
  if (files.has('go.mod')) {
    if (files.has('go.sum')) addSetup(inferred, ['go', 'mod', 'download'], 'go.sum is there', ['go.mod', 'go.sum']);
    addCheck(inferred, 'test', ['go', 'test', './...'], 'go.mod is there');
  }
  if (files.has('gradlew')) addCheck(inferred, 'test', ['./gradlew', 'test', '--offline'], 'gradlew is there');
  else if (files.has('pom.xml')) addCheck(inferred, 'test', ['mvn', '-q', '-o', 'test'], 'pom.xml is there');
}

async function inferRuby(files: ReadonlySet<string>, inferred: InferredWorkspace): Promise<void> {
  if (!files.has('Gemfile.lock')) return;
  addSetup(inferred, ['bundle', 'install'], 'Gemfile.lock is there', ['Gemfile', 'Gemfile.lock']);
  if (files.has('spec')) addCheck(inferred, 'test', ['bundle', 'exec', 'rspec'], 'a folder spec is there');
  else if (files.has('Rakefile')) addCheck(inferred, 'test', ['bundle', 'exec', 'rake', 'test'], 'Rakefile is there');
}

async function inferMake(files: ReadonlySet<string>, read: ReadFile, inferred: InferredWorkspace): Promise<void> {
  const name = ['GNUmakefile', 'makefile', 'Makefile'].find((file) => files.has(file));
  if (!name || inferred.checks.length > 0) return;
  const makefile = (await read(name)) ?? '';
  for (const target of ['check', 'test']) {
    if (!new RegExp(`^${target}\\s*:(?!=)`, 'm').test(makefile)) continue;
    addCheck(inferred, target, ['make', target], `${name} has a target ${target}`);
    return;
  }
}

function parseObject(text: string | undefined): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : {};
  } catch {
    return {};
  }
}
