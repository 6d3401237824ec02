import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';

import { commitAll, folderState, git, makeMakeRepository, writeFiles } from '../repositories/index.ts';
import { type Crew, openCrew } from './crew.ts';
import { type CliResult, createInstance, type Instance } from './instance.ts';

vi.setConfig({ testTimeout: 60_000 });

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterAll(() => crew?.dispose());

/** `run` on a folder; nothing may have been created, in the store or in the folder. */
async function refusedRun(folder: string, ...options: string[]): Promise<CliResult> {
  const state = existsSync(folder) ? folderState(folder) : undefined;
  const projects = (await crew.get('/api/projects')).items.length;
  const repositories = (await crew.get('/api/repositories')).items.length;
  const result = await crew.cli(['run', 'do it', '--repo', folder, ...options]);
  expect((await crew.get('/api/projects')).items.length, 'projects').toBe(projects);
  expect((await crew.get('/api/repositories')).items.length, 'repositories').toBe(repositories);
  expect(existsSync(folder) ? folderState(folder) : undefined).toEqual(state);
  return result;
}

function emptyRepository(name: string): string {
  const folder = join(crew.root, name);
  mkdirSync(folder);
  git(folder, 'init', '-q', '-b', 'main');
  return folder;
}

describe('a repository that cannot be worked on leaves nothing half done (exit 2, 6 or 8)', () => {
  test('a folder that is no git repository', async () => {
    const folder = join(crew.root, 'plain');
    mkdirSync(folder);
    expect(await refusedRun(folder)).toMatchObject({ code: 2, json: { code: 'not_a_repository' } });
  });

  test('a folder that is not there', async () => {
    const missing = await refusedRun(join(crew.root, 'nowhere'));
    expect([2, 8]).toContain(missing.code);
    expect(missing.json.detail).toContain('nowhere');
  });

  test('a repository without commits', async () => {
    const refused = await refusedRun(emptyRepository('unborn'));
    expect(refused.json.code).toBe('no_commits');
    expect([2, 6]).toContain(refused.code);
  });

  test('a detached HEAD, where no base was named', async () => {
    const folder = makeMakeRepository(join(crew.root, 'detached'));
    git(folder, 'checkout', '-q', '--detach');
    git(folder, 'branch', '-q', '-m', 'main', 'elsewhere');
    const refused = await refusedRun(folder);
    expect(refused.json.code).toBe('detached_head');
    expect(refused.json.detail).toMatch(/branch|base/);
  });

  test('a base that does not exist: said by name', async () => {
    const folder = makeMakeRepository(join(crew.root, 'baseless'));
    writeFiles(folder, { 'chantier.yml': 'version: 1\nrepository: { base: release }\n' });
    commitAll(folder, 'A base that is not there');
    const refused = await refusedRun(folder);
    expect(refused.json.code).toBe('base_missing');
    expect(refused.json.detail).toContain('release');
  });

  test('an invalid chantier.yml: file, line and key are named', async () => {
    const folder = makeMakeRepository(join(crew.root, 'yaml'));
    writeFiles(folder, { 'chantier.yml': 'version: 1\nchecks:\n  - name: test\n    rum: [make, check]\n' });
    commitAll(folder, 'A key that is not there');
    const refused = await refusedRun(folder);
    expect(refused).toMatchObject({ code: 2, json: { code: 'invalid_repository_config' } });
    expect(refused.json.detail).toMatch(/line 3|line 4|:3|:4/);
    expect(refused.json.detail).toContain('rum');
  });

  test('an author that is not there', async () => {
    const folder = makeMakeRepository(join(crew.root, 'agentless'));
    const result = await crew.cli(['run', 'do it', '--repo', folder, '--agent', 'nobody']);
    expect(result.code).toBe(8);
    expect(result.json.detail).toContain('nobody');
    expect(folderState(folder)).toBeDefined();
  });

  test('an agent whose program is not there cannot be registered', async () => {
    const words = ['agent', 'add', 'ghost', '--family', 'x', '--', '/nonexistent/agent'];
    const result = await crew.cli(words, { proof: true });
    expect([2, 8]).toContain(result.code);
    expect(result.json.detail).toContain('/nonexistent/agent');
    expect((await crew.get('/api/agents')).map((agent: { codename: string }) => agent.codename)).not.toContain('ghost');
  });
});

describe('a server that cannot start says why and leaves the other alone', () => {
  test('a second server on the same home is not started, and the first one is named', async () => {
    const second = await crew.cli(['up', '--port', '0']);
    expect(second).toMatchObject({ code: 0, json: { started: false, url: crew.url() } });
    expect((await crew.get('/api/status')).halted).toBe(false);
  });

  test('a port that is taken is named, and no server stays', async () => {
    const taken = createServer();
    const port = await new Promise<number>((done) => {
      taken.listen(0, '127.0.0.1', () => done((taken.address() as { port: number }).port));
    });
    onTestFinished(() => void taken.close());
    const instance = freshInstance();
    const result = await instance.cli(['up', '--port', String(port)], { proof: true });
    expect(result.code).not.toBe(0);
    expect(result.json.detail).toContain(String(port));
    expect(result.stderr + result.stdout).not.toMatch(/at .*\.js:\d+/);
  });

  test('a home that cannot be written is named', async () => {
    const instance = freshInstance();
    const place = join(instance.root, 'sealed');
    writeFileSync(place, 'a file where the home should be');
    const result = await instance.cli(['up'], { env: { ...instance.env, CHANTIER_HOME: join(place, 'home') } });
    expect(result.code).toBe(1);
    expect(result.json.detail).toContain(place);
    expect(result.stderr).not.toMatch(/at .*\.js:\d+/);
  });

  test('a database of a newer version is not touched', async () => {
    const instance = freshInstance();
    await instance.up();
    await instance.must(['down']);
    const file = join(instance.home, 'chantier.db');
    const database = new DatabaseSync(file);
    const table = database
      .prepare(`SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE '%migration%'`)
      .get() as { name: string };
    const [last] = database.prepare(`SELECT * FROM ${table.name} ORDER BY 1 DESC LIMIT 1`).all() as Record<
      string,
      unknown
    >[];
    const names = Object.keys(last!);
    const newer = names.map((name) =>
      name === 'breaking' ? 1 : typeof last![name] === 'string' ? '9999-from-the-future' : Number(last![name]) + 1000,
    );
    database
      .prepare(`INSERT INTO ${table.name} (${names.join(', ')}) VALUES (${names.map(() => '?').join(', ')})`)
      .run(...(newer as string[]));
    database.close();
    const before = readFileSync(file);
    const result = await instance.cli(['up'], { proof: true });
    expect(result.code).toBe(1);
    expect(result.json.detail).toMatch(/newer/);
    expect(readFileSync(file).equals(before)).toBe(true);
  });

  test('a git that is too old stops the start with both versions', async () => {
    const instance = freshInstance();
    const bin = join(instance.root, 'bin');
    mkdirSync(bin);
    writeFileSync(join(bin, 'git'), '#!/bin/sh\necho "git version 2.30.2"\n');
    chmodSync(join(bin, 'git'), 0o755);
    const result = await instance.cli(['up'], {
      proof: true,
      env: { ...instance.env, PATH: `${bin}:${process.env.PATH}` },
    });
    expect(result.code).toBe(1);
    expect(result.json.detail).toMatch(/2\.30\.2.*2\.38|2\.38.*2\.30\.2/);
  });

  test('without a terminal the first run ends with exit 9 and the command to run', async () => {
    const instance = freshInstance({ CHANTIER_AUTOSTART: 'true' });
    const result = await instance.cli(['run', 'do it', '--repo', makeMakeRepository(join(instance.root, 'repo'))]);
    expect(result.code).toBe(9);
    expect(result.json.detail).toContain('init --passphrase-fd');
    await instance.cli(['down']);
  });
});

/** An instance of its own, without a server; removed after the test. */
function freshInstance(settings: NodeJS.ProcessEnv = {}): Instance {
  const instance = createInstance(settings);
  onTestFinished(() => instance.dispose());
  return instance;
}
