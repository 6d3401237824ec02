import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';

import { folderState, git, makeMakeRepository, makeRemoteRepository } from '../repositories/index.ts';
import { type Crew, openCrew, type Step } from './crew.ts';

vi.setConfig({ testTimeout: 90_000 });

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

describe('the main job on repositories as they are, without a file of ours (design 6 and 9)', () => {
  test('plain make: nothing lands before the question is answered, the finding mended and a human has said yes', async () => {
    const repository = makeMakeRepository(join(crew.root, 'make'));
    const before = folderState(repository);
    const request = crew.request(
      'Greet the moon',
      [['ask', 'Who shall be greeted?'], ...greet('hello {answer} FIXME\n')],
      greet('hello moon\n'),
    );
    const waiting = crew.cli(['run', '-', '--repo', repository, '--wait'], { stdin: request });
    const question = await crew.until('the question', async () =>
      (await crew.get('/api/decisions?kind=escalation_answer')).items.at(0),
    );
    expect(folderState(repository)).toEqual(before);
    expect((await crew.cli(['land', '1'], { proof: true })).code).not.toBe(0);
    await crew.must(['respond', question.id, 'moon'], { proof: true });
    const offer = await crew.until('the offer', async () =>
      (await crew.get('/api/decisions?kind=landing')).items.at(0),
    );
    expect(folderState(repository)).toEqual(before);
    const shown = await crew.must(['pr', 'show', '1', '--diff']);
    expect(shown.stdout).toContain('+hello moon');
    await crew.must(['approve', offer.id], { proof: true });

    const { code, json } = await waiting;
    expect(code).toBe(0);
    expect(json.outcome).toBe('landed');
    expect(json.landing.checkout.effect).toBe('fast-forwarded');
    expect(git(repository, 'log', '-1', '--format=%H %P', 'main')).toBe(`${json.landing.commit} ${json.baseCommit}`);
    expect(git(repository, 'log', '-1', '--format=%(trailers:key=Chantier-Landing,valueonly)', 'main')).toContain(
      json.landing.id,
    );
    expect(readFileSync(join(repository, 'greeting.txt'), 'utf8')).toBe('hello moon\n');
    expect(git(repository, 'status', '--porcelain')).toBe('');
    expect(json.landing.checks).toMatchObject([{ name: 'check', status: 'passed' }]);
    expect(changedPaths(before, folderState(repository))).toEqual(['greeting.txt']);
    const pull = await crew.pullRequest(json);
    expect(pull.verdicts.map((one: { verdict: string }) => one.verdict)).toEqual(['request_changes', 'approve']);
  });

  test('remote without a forge: nothing is pushed; the reviewed change ends as a branch with the commands', async () => {
    const repository = makeRemoteRepository(join(crew.root, 'remote'));
    const before = folderState(repository);
    const remoteBefore = folderState(`${repository}-remote.git`);
    const run = await crew.run(repository, crew.request('Greet the sea', greet('hello sea\n')));
    const landing = await crew.land(run);
    expect(landing.mode).toBe('branch');
    expect(landing.commands.join('\n')).toContain('git');
    expect(folderState(repository)).toEqual(before);
    expect(folderState(`${repository}-remote.git`)).toEqual(remoteBefore);
  });

  test('a change that fails its check does not land; the run ends with exit 10 and says why', async () => {
    const repository = makeMakeRepository(join(crew.root, 'red'));
    const before = folderState(repository);
    const request = crew.request('Say good bye', greet('good bye\n'), [['say', 'I have no better idea.']]);
    const { code, json, stderr } = await crew.cli(['run', '-', '--repo', repository, '--wait', '--timeout', '2m'], {
      stdin: request,
    });
    expect({ code, stderr, json }).toMatchObject({ code: 10 });
    expect(json.outcome).toBe('not-landed');
    expect(json.message).toContain('Red on the candidate: check (failed, exit 2)');
    expect(json.decision.detail.last.log).toContain('check');
    expect(folderState(repository)).toEqual(before);
    await crew.settle(json.decision.id, { verdict: 'refuse' });
    expect((await crew.pullRequest(json)).state).toBe('closed');
  });
});

describe('the event log of it (design 5 and 10)', () => {
  test('audit verify does not overlook one changed byte: it names the event and exits 1', async () => {
    const whole = await crew.must(['audit', 'verify']);
    expect(whole.json).toMatchObject({ ok: true, firstFault: null });
    const file = join(crew.root, 'export.ndjson');
    const lines = String(await crew.get('/api/audit/export'))
      .trimEnd()
      .split('\n');
    writeFileSync(file, `${lines.join('\n')}\n`);
    expect((await crew.must(['audit', 'verify', file])).json).toMatchObject({ ok: true, checked: lines.length });
    const at = Math.floor(lines.length / 2);
    const { seq, id } = JSON.parse(lines[at]!);
    lines[at] = lines[at]!.replace(/"at":(\d+)(\d)/, (_all, head, last) => `"at":${head}${(Number(last) + 1) % 10}`);
    writeFileSync(file, `${lines.join('\n')}\n`);
    const changed = await crew.cli(['audit', 'verify', file]);
    expect(changed.code).toBe(1);
    expect(changed.json).toMatchObject({ ok: false, firstFault: { seq, id, fault: 'changed' } });
  });
});

/** Paths whose content differs, but for what a fast-forward of the base and of its index has to write. */
function changedPaths(before: Record<string, string>, after: Record<string, string>): string[] {
  const expected = /^\.git\/(objects\/.*|index|refs\/heads\/main|logs\/(HEAD|refs\/heads\/main))$/;
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter(
    (path) => before[path] !== after[path] && !expected.test(path),
  );
}
