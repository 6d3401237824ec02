import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { execFileSync } from 'node:child_process';
import { DatabaseSync } from 'node:sqlite';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { packageFolder } from '../e2e/built-package.ts';
import { type Crew, openCrew, type RunIds } from '../e2e/crew.ts';
import { processesOf } from '../e2e/processes.ts';
import { git, makeMakeRepository } from '../repositories/index.ts';

let crew: Crew;
/** A backup that was made while an agent asked, and while a change waited for its landing. */
let backup: string;
let landed: { id: string; commit: string };
let asked: RunIds;
let offered: RunIds;
let repository: string;

beforeAll(async () => {
  crew = await openCrew();
  repository = makeMakeRepository(join(crew.root, 'repository'));
  const write = (name: string) =>
    crew.run(repository, crew.request(name, [['write', `${name}.txt`, `${name}\n`], ['commit', name], ['done']]));
  landed = await crew.land(await write('first'));
  offered = await write('second');
  await crew.decision(offered, 'landing');
  const ask = [['ask', 'Whom?'], ['write', 'third.txt', 'hello {answer}\n'], ['commit', 'Greet'], ['done']] as const;
  asked = await crew.run(repository, crew.request('third', ask as never));
  await crew.decision(asked, 'escalation_answer');
  backup = join(crew.root, 'safe');
  await crew.must(['backup', backup]);
});
afterAll(() => crew?.dispose());

const manifestOf = (folder: string) => JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8'));

/** Nothing of the server or its agents goes on. */
async function endEverything(): Promise<void> {
  await crew.kill();
  for (const pid of processesOf(crew.root)) process.kill(pid, 'SIGKILL');
}

describe('backup and restore (design 5)', () => {
  test('a backup during work holds database, forge, keys and the journal of the living session, and says what it does not hold', async () => {
    const manifest = manifestOf(backup);
    const paths: string[] = manifest.files.map((file: { path: string }) => file.path);
    const { id } = await crew.session(asked);
    expect(paths).toContain('chantier.db');
    expect(paths).toContain('keys/node-id');
    expect(paths).toContain(`sessions/${id}/1/out.ndjson`);
    expect(paths.some((path) => /^forge\/[^/]+\.git\/packed-refs$/.test(path))).toBe(true);
    expect(manifest.notIncluded.join()).toMatch(/work folders/);
    expect(statSync(backup).mode & 0o777).toBe(0o700);
    expect(statSync(join(backup, 'chantier.db')).mode & 0o777).toBe(0o600);
    const onDisk = readdirSync(backup, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
    expect(onDisk).toHaveLength(paths.length + 1);
    const doctor = await crew.must(['doctor']);
    const check = doctor.json.checks.find((one: { name: string }) => one.name === 'backup');
    expect(check.message).toMatch(/less than a day ago/);
  });

  test('is refused while a server holds the home, inside an agent, without a manifest, and into a place that is taken', async () => {
    expect(await crew.cli(['restore', backup], { proof: true })).toMatchObject({
      code: 4,
      json: { code: 'home_held' },
    });
    const inside = await crew.cli(['restore', backup], { proof: true, env: { CHANTIER_RUN: 'x/1' } });
    expect(inside).toMatchObject({ code: 9, json: { code: 'inside_agent' } });
    expect(await crew.cli(['restore', crew.root], { proof: true })).toMatchObject({
      code: 8,
      json: { code: 'no_backup' },
    });
    expect(await crew.cli(['backup', backup])).toMatchObject({ code: 4, json: { code: 'backup_exists' } });
    expect(await crew.cli(['backup', join(crew.home, 'forge/x')])).toMatchObject({
      code: 2,
      json: { code: 'backup_path' },
    });
  });

  test('a server that is killed while it writes a backup leaves nothing that looks like one', async () => {
    const target = join(crew.root, 'torn');
    const writing = crew.cli(['backup', target]);
    await crew.until('the backup to begin', async () =>
      readdirSync(crew.root).some((name) => name.startsWith('.unfinished-torn')),
    );
    await crew.kill();
    expect((await writing).code).not.toBe(0);
    expect(existsSync(target)).toBe(false);
    await crew.up();
    await crew.must(['backup', target]);
    expect(readdirSync(crew.root).filter((name) => name.startsWith('.unfinished'))).toEqual([]);
  });

  test('living agents, a changed file, a missing file, a foreign path, a broken log and a wrong passphrase are refused, and the home is as it was', async () => {
    await crew.kill();
    expect(await crew.cli(['restore', backup], { proof: true })).toMatchObject({
      code: 6,
      json: { code: 'agents_alive' },
    });
    await endEverything();
    const tampered = async (change: (folder: string) => void) => {
      const folder = join(crew.root, 'tampered');
      rmSync(folder, { recursive: true, force: true });
      cpSync(backup, folder, { recursive: true });
      change(folder);
      return crew.cli(['restore', folder], { proof: true });
    };
    const before = readFileSync(join(crew.home, 'keys/node-id'), 'utf8');
    const changed = await tampered((folder) => writeFileSync(join(folder, 'keys/node-id'), 'x'.repeat(before.length)));
    expect(changed).toMatchObject({ code: 2, json: { code: 'backup_damaged' } });
    expect(changed.json.detail).toContain('tampered/keys/node-id was changed');
    const missing = await tampered((folder) => rmSync(join(folder, 'keys/node-id')));
    expect(missing.json.detail).toContain('keys/node-id is missing');
    const foreign = await tampered((folder) => {
      const manifest = manifestOf(folder);
      manifest.files[0].path = '../outside';
      writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
    });
    expect(foreign).toMatchObject({ code: 2, json: { code: 'backup_damaged' } });
    const forged = await tampered((folder) => forgeLog(folder));
    expect(forged).toMatchObject({ code: 2, json: { code: 'backup_damaged' } });
    expect(forged.json.detail).toMatch(/broken log/);
    const newer = await tampered((folder) =>
      changeDatabase(folder, (database) =>
        database.exec(`insert into migration (name, breaking, applied_at) values ('9999-later', 1, 1)`),
      ),
    );
    expect(newer).toMatchObject({ code: 6, json: { code: 'database_newer' } });
    const twice = await tampered((folder) => {
      const manifest = manifestOf(folder);
      manifest.files.push(manifest.files[0]);
      writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
    });
    expect(twice.json.detail).toContain('contradicts itself');
    const wrong = await crew.cli(['restore', backup, '--operator', 'nobody'], { proof: true });
    expect(wrong).toMatchObject({ code: 9, json: { code: 'wrong_passphrase' } });
    expect(await crew.cli(['restore', backup])).toMatchObject({ code: 9, json: { code: 'no_proof' } });
    expect(readFileSync(join(crew.home, 'keys/node-id'), 'utf8')).toBe(before);
    expect(readdirSync(crew.root).filter((name) => /^c\.(restoring|before)/.test(name))).toEqual([]);
  });

  test('killed between its two renames, nothing makes a new home, and the one command that was printed takes the old one back', async () => {
    const marker = join(crew.home, 'backups/mark');
    mkdirSync(join(crew.home, 'backups'), { recursive: true });
    writeFileSync(marker, 'mine');
    const env = {
      NODE_OPTIONS: `--import ${join(packageFolder, 'test/e2e/dies-at-rename.mjs')}`,
      DIES_AT_RENAME_ONTO: crew.home,
    };
    const died = await crew.cli(['restore', backup], { proof: true, env });
    expect(died.code).not.toBe(0);
    expect(existsSync(crew.home)).toBe(false);
    const up = await crew.cli(['up', '--detach']);
    expect(up).toMatchObject({ code: 6, json: { code: 'restore_interrupted' } });
    expect(existsSync(crew.home)).toBe(false);
    // A second try that is refused leaves the place free.
    expect((await crew.cli(['restore', backup, '--operator', 'nobody'], { proof: true })).code).toBe(9);
    expect(existsSync(crew.home)).toBe(false);
    const printed = died.stderr.split('\n').find((line) => line.startsWith('  mv '))!;
    expect(up.json.facts.command).toBe(printed.trim());
    execFileSync('sh', ['-c', printed]);
    expect(readFileSync(marker, 'utf8')).toBe('mine');
  });

  test('with home and work folders gone: the log holds, what had landed is there, sessions end as restored, decisions stay, and a revert works', async () => {
    rmSync(crew.home, { recursive: true });
    rmSync(`${crew.home}-work`, { recursive: true, force: true });
    const restored = await crew.must(['restore', backup], { proof: true });
    expect(restored.json).toMatchObject({ aside: null, endedSessions: 1 });
    const checkout = git(repository, 'rev-parse', 'HEAD');
    await crew.up();
    expect((await crew.must(['audit', 'verify'])).json.ok).toBe(true);
    expect(
      (await crew.must(['doctor', '--deep'])).json.checks.filter((one: { status: string }) => one.status === 'fail'),
    ).toEqual([]);

    const forge = readdirSync(join(crew.home, 'forge')).find((name) => name.endsWith('.git'))!;
    expect(git(join(crew.home, 'forge', forge), 'cat-file', '-t', landed.commit)).toBe('commit');
    expect(git(repository, 'rev-parse', 'HEAD')).toBe(checkout);
    const ended = await crew.events('session.moved');
    const reasons = ended.filter((event) => event.facts.reason === 'restored');
    expect(reasons.map((event) => event.facts.to)).toEqual(['CRASHED']);

    // Its agent is gone, so its task is tried again, and asks again.
    const question = await crew.decision(asked, 'escalation_answer');
    await crew.settle(question.id, { verdict: 'respond', text: 'mars' });
    await crew.land(offered);
    expect(git(repository, 'show', 'main:second.txt')).toBe('second');
    await crew.land(asked);
    expect(git(repository, 'show', 'main:third.txt')).toBe('hello mars');

    await crew.must(['revert', landed.id, '--reason', 'not wanted'], { proof: true });
    const project = (await crew.get(`/api/landings/${landed.id}`)) as { id: string };
    expect(project.id).toBe(landed.id);
    await crew.until('the revert to be offered', async () => {
      const open = await crew.get('/api/decisions?kind=landing&limit=100');
      return open.items[0] && crew.settle(open.items[0].id, { verdict: 'approve' });
    });
    await crew.until('the revert to land', async () => {
      const files = git(repository, 'ls-tree', '--name-only', 'main');
      return !files.includes('first.txt');
    });
    expect((await crew.must(['doctor', '--deep'])).json.ok).toBe(true);
  });

  test('over a home that is there, the one of before is kept, a second start ends nothing more, and what spoke for somebody before is void', async () => {
    await crew.kill();
    const again = await crew.must(['restore', backup, '--stop-agents'], { proof: true });
    expect(existsSync(join(again.json.aside, 'chantier.db'))).toBe(true);
    expect(existsSync(join(crew.home, 'operator.token'))).toBe(false);
    expect(standingOf(backup)).toEqual({ tokens: 1, proofs: true });
    expect(standingOf(crew.home)).toEqual({ tokens: 0, proofs: false });
    await crew.up();
    await crew.decision(asked, 'escalation_answer');
    await crew.kill();
    await crew.up();
    const moves = (await crew.events('session.moved')).filter((event) => event.facts.reason === 'restored');
    expect(moves).toHaveLength(1);
    // The checkout is ahead of what this backup knows: it is read as any commit of the operator, and nothing in it moves.
    expect(git(repository, 'status', '--porcelain')).toBe('');
    expect((await crew.must(['doctor', '--deep'])).json.ok).toBe(true);
  });
});

/** What could still speak for an agent or a human. */
function standingOf(folder: string): { tokens: number; proofs: boolean } {
  const database = new DatabaseSync(join(folder, 'chantier.db'), { readOnly: true });
  const count = (from: string) => Number(database.prepare(`select count(*) as n from ${from}`).get()?.n);
  const tokens = count('session where token_hash is not null and ended_at is null');
  const proofs = count('proof') > 0;
  database.close();
  return { tokens, proofs };
}

/** Changes one event of the copied database. */
function forgeLog(folder: string): void {
  changeDatabase(folder, (database) => {
    const named = `select name from sqlite_schema where type = 'trigger' and tbl_name = 'event'`;
    for (const { name } of database.prepare(named).all()) database.exec(`drop trigger ${String(name)}`);
    database.exec(`update event set actor_id = 'eve' where seq = 3`);
  });
}

/** Changes the copied database and makes the manifest agree with it. */
function changeDatabase(folder: string, change: (database: DatabaseSync) => void): void {
  const file = join(folder, 'chantier.db');
  const database = new DatabaseSync(file);
  change(database);
  database.close();
  const manifest = manifestOf(folder);
  const entry = manifest.files.find((one: { path: string }) => one.path === 'chantier.db');
  entry.size = statSync(file).size;
  entry.sha256 = execFileSync('sha256sum', [file]).toString().slice(0, 64);
  writeFileSync(join(folder, 'manifest.json'), JSON.stringify(manifest));
}
