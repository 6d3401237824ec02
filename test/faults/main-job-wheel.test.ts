import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';

import { entry } from '../e2e/instance.ts';
import { node } from '../e2e/built-package.ts';
import { type Crew, openCrew, type SessionFacts, type Step } from '../e2e/crew.ts';
import { leftOn } from '../e2e/left-on.ts';
import { descendants } from '../e2e/processes.ts';
import { sitDown } from '../e2e/sit-down.ts';
import { git, makeMakeRepository } from '../repositories/index.ts';

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew();
});
afterEach(() => crew.calm());
afterAll(() => crew?.dispose());

const hang: Step[] = [['write', 'agent.txt', 'half\n'], ['commit', 'Half'], ['say', 'now I hang'], ['hang']];
const deliver: Step[] = [['sayHeard'], ['write', 'rest.txt', 'rest\n'], ['commit', 'The rest'], ['done']];

/** A run whose author hangs in its first turn and delivers in the next. */
async function runHanging(name: string) {
  const repository = makeMakeRepository(join(crew.root, name));
  const run = await crew.run(repository, crew.request(`Hang ${name}`, hang, deliver));
  const session = await crew.session(run, (one) => one.state === 'RUNNING');
  await crew.until('the turn to hang', async () => (await logOf(session)).includes('now I hang'));
  return { repository, run, session };
}

async function logOf(session: SessionFacts, generation = 1): Promise<string> {
  return JSON.stringify(
    await crew.get(`/api/sessions/${session.id}/transcript?limit=1000&raw=true&generation=${generation}`),
  );
}

function subjects(session: SessionFacts): string[] {
  const clone = crew.workFolder(session);
  return git(clone, '-c', `safe.directory=${clone}`, 'log', '--format=%s').split('\n').filter(Boolean);
}

const commitHuman = 'echo human > human.txt; git add -A; git commit -q -m "By the human"\n';

/** The CLI with a shell that stays open until its stdin is closed. */
async function openShell(session: SessionFacts) {
  const child = spawn(node, [entry, 'takeover', session.workKey, '--shell'], { env: crew.env, stdio: 'pipe' });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  child.stdin.write('echo at the wheel\n');
  await new Promise<void>((resolve) => {
    child.stdout.on('data', (chunk: Buffer) => chunk.toString().includes('at the wheel') && resolve());
    void ended.then(resolve);
  });
  return { child, ended };
}

describe('humans at the wheel, by the command line (design 7)', () => {
  test('takeover opens a shell in the sandbox, status says who has it, handback goes on with the commits and the note', async () => {
    const { repository, run, session } = await runHanging('taken');
    const taken = await crew.must(['takeover', session.workKey, '--shell'], {
      stdin: `${commitHuman}id -u >&2; ls $HOME/../../.. >&2\n`,
    });
    expect(taken.json.takeover.session).toMatchObject({ state: 'PAUSED', flags: { takenOver: true } });
    expect(taken.json.ended.code).not.toBeNull();
    const status = (await crew.must(['status', session.workKey])).json.sessions[0];
    expect(status.takeover.by).toBe(taken.json.takeover.by);
    expect((await crew.cli(['resume', session.workKey])).code).toBe(6);
    expect((await crew.cli(['takeover', session.workKey])).code).toBe(4);
    const told = await crew.must(['tell', session.workKey, 'a word meanwhile', '--now']);
    expect(told.json).toMatchObject({ delivery: 'unconfirmed', message: expect.stringContaining('handed back') });
    const back = await crew.must(['handback', session.workKey, '--note', 'the rest is yours']);
    expect(back.json.commits.map((one: { subject: string }) => one.subject)).toEqual(['By the human']);
    await crew.land(run);
    const heard = await logOf(session, 2);
    for (const word of ['By the human', '+human', 'the rest is yours', 'a word meanwhile'])
      expect(heard).toContain(word);
    expect(git(repository, 'ls-tree', '--name-only', 'main')).toMatch(/agent\.txt[^]*human\.txt[^]*rest\.txt/);
    expect(await crew.session(run, (one) => one.role === 'author')).toMatchObject({ id: session.id, generation: 2 });
  });

  test('the server killed with -9 while a human is at the wheel: the terminal goes on, the session stays theirs, and handback works (design 7, decision 6)', async () => {
    const { run, session } = await runHanging('killed');
    const { child, ended } = await openShell(session);
    await crew.kill('SIGKILL');
    await crew.up();
    const after = (await crew.must(['status', session.workKey])).json.sessions[0];
    expect(after).toMatchObject({ state: 'PAUSED', flags: { takenOver: true } });
    const still = await crew.cli(['handback', session.workKey]);
    expect(still).toMatchObject({ code: 4, json: { code: 'terminal_open' } });
    child.stdin.end(commitHuman);
    await ended;
    const back = await crew.must(['handback', session.workKey]);
    expect(back.json.commits).toHaveLength(1);
    await crew.decision(run, 'landing', 60_000);
    expect(subjects(session).slice(0, 3)).toEqual(['The rest', 'By the human', 'Half']);
  });

  test('the command line killed with -9: the session stays taken over, and another terminal opens in it (design 7)', async () => {
    const { run, session } = await runHanging('cli-killed');
    const { child, ended } = await openShell(session);
    child.kill('SIGKILL');
    await ended;
    child.stdin.destroy();
    await crew.until('the shell to end with its stdin', async () => {
      const again = await crew.cli(['takeover', session.workKey, '--again', '--shell'], { stdin: commitHuman });
      return again.code === 0;
    });
    const back = await crew.must(['handback', session.workKey]);
    expect(back.json.commits).toHaveLength(1);
    await crew.decision(run, 'landing', 60_000);
  });

  test('a program killed with -9 in a terminal leaves none of its modes on: screen, cursor, pastes, mouse, keyboard, colours (design 7)', async () => {
    const { session } = await runHanging('modes');
    const person = await sitDown(crew, ['takeover', session.workKey, '--shell']);
    await person.sees(/[$#]$/m);
    const modes =
      '\\033[?1049h\\033[?25l\\033[?2004;1000;1003;1004;1006;2026h\\033[>7u\\033[>4;2m\\033[2;5r\\033[1;31mDR\\101WN';
    person.type(`printf '${modes}'; kill -9 $$\r`);
    expect(await person.ended).toBe(0);
    expect(person.written()).toContain('\u001B[1;31mDRAWN');
    expect(leftOn(person.written())).toEqual([]);
    const { text, cursor } = await person.screen();
    expect(text.join('\n')).toContain('The terminal is closed');
    expect(text.join('\n')).not.toContain('DRAWN');
    expect(text[cursor.row - 1]).toContain('Open another:');
  });

  test("the command line killed with -9 while its shell lives on: what ran in the terminal ends, the screen is the shell's again, and another terminal opens at once (design 7)", async () => {
    const { run, session } = await runHanging('shell-lives');
    const person = await sitDown(crew, ['takeover', session.workKey, '--shell'], { inShell: true });
    await person.sees(/bash-[^]*bash-/);
    person.type(`printf '\\033[?1049h\\033[?2004;1003h'; echo $((6 * 7)); exec sleep 1234\r`);
    await person.sees('42');
    const { takeover } = (await crew.must(['status', session.workKey])).json.sessions[0];
    expect(takeover).not.toBeNull();
    const client = descendants(person.pid).find((pid) =>
      readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('\0takeover\0'),
    )!;
    process.kill(client, 'SIGKILL');
    const again = await crew.until('another terminal', async () => {
      const opened = await crew.cli(['takeover', session.workKey, '--again', '--shell'], { stdin: commitHuman });
      return opened.code === 0 && opened;
    });
    expect(again.json.terminal.program).toBe('shell');
    await crew.until('the old one to be left', async () => leftOn(person.written()).join() === '');
    person.type('echo the shell $((40 + 4))\r');
    await person.sees('the shell 44');
    person.kill('SIGKILL');
    const back = await crew.must(['handback', session.workKey]);
    expect(back.json.commits).toHaveLength(1);
    await crew.decision(run, 'landing', 60_000);
  });

  test('the server killed with -9 in the middle of a handback: repeated it is done once, with the same commits (design 7, 2.7)', async () => {
    for (const after of [40, 400]) {
      const { run, session } = await runHanging(`handback${after}`);
      await crew.must(['takeover', session.workKey, '--shell'], { stdin: commitHuman });
      const key = `handback-${after}`;
      const first = crew.cli(['handback', session.workKey, '--idempotency-key', key]);
      await new Promise((resolve) => setTimeout(resolve, after));
      await crew.kill('SIGKILL');
      await first;
      await crew.up();
      const again = await crew.must(['handback', session.workKey, '--idempotency-key', key]);
      expect(again.json.commits.map((one: { subject: string }) => one.subject)).toEqual(['By the human']);
      await crew.decision(run, 'landing', 60_000);
      const events = await crew.events('session.flagged');
      const off = events.filter(
        ({ subject, facts }) => subject.id === session.id && facts.flag === 'taken_over' && !facts.on,
      );
      expect(off).toHaveLength(1);
      expect(subjects(session).slice(0, 3)).toEqual(['The rest', 'By the human', 'Half']);
    }
  });

  test('stop --all ends a terminal that is open, and saves what the human left uncommitted (design 7)', async () => {
    const { run, session } = await runHanging('halted');
    const { child, ended } = await openShell(session);
    const written = new Promise<void>((resolve) => child.stdout.once('data', () => resolve()));
    child.stdin.write('echo left > left.txt; echo written\n');
    await written;
    const halted = await crew.must(['stop', '--all']);
    await ended;
    expect(halted.json.durationMs).toBeLessThan(5_000);
    expect(halted.json.stopped[0].savedRefs).not.toEqual([]);
    const forge = join(crew.home, 'forge', `${run.repositoryId}.git`);
    const saved = halted.json.stopped[0].savedRefs
      .map((ref: string) => git(forge, 'ls-tree', '-r', '--name-only', ref))
      .join();
    expect(saved).toContain('left.txt');
    await crew.must(['stop', '--go-on']);
  });
});

test('several answers in one visit, oldest question first; the first that is refused ends it, and a repetition answers nothing twice (S-32, S-33)', async () => {
  const repository = makeMakeRepository(join(crew.root, 'visit'));
  const asks: Step[] = [['askAll', ['first?', 'second?', 'third?']], ...deliver];
  const run = await crew.run(repository, crew.request('Ask', asks));
  const session = await crew.session(run, (one) => one.openEscalations.length === 3);
  const [first, second, third] = session.openEscalations;
  const wrong = JSON.stringify([{ text: 'one' }, { text: 'two', question: third!.id }, 'three']);
  const visit = await crew.cli(['respond', session.workKey, '--batch', '-'], { proof: true, stdin: wrong });
  expect(visit.code).toBe(10);
  expect(visit.json.results.map((one: { outcome: string }) => one.outcome)).toEqual([
    'answered',
    'refused',
    'not-tried',
  ]);
  expect(visit.json.results[0].escalation).toMatchObject({ id: first!.id });
  expect(visit.json.results[1].code).toBe('not_oldest_escalation');
  const rest = ['respond', session.workKey, '--batch', '-', '--idempotency-key', 'visit-2'];
  for (const _ of [1, 2]) {
    const answered = await crew.must(rest, { proof: true, stdin: 'two\n---\nthree\n' });
    expect(answered.json).toMatchObject({ answered: 2, open: 0 });
    expect(answered.json.results[0].escalation.id).toBe(second!.id);
  }
  await crew.decision(run, 'landing', 60_000);
  const told = await crew.cli(['tell', session.workKey, 'one more thing']);
  expect(told).toMatchObject({ code: 6, json: { code: 'author_reachable' } });
  expect(told.json.detail).toContain('chantier refuse');
});
