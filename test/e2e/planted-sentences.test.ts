import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { DatabaseSync } from 'node:sqlite';

import { afterAll, beforeAll, expect, test, vi } from 'vitest';

import { makeMakeRepository } from '../repositories/index.ts';
import { type Crew, openCrew } from './crew.ts';

vi.setConfig({ testTimeout: 90_000 });

let crew: Crew;
beforeAll(async () => {
  crew = await openCrew({ CHANTIER_LOG_LEVEL: 'trace' });
});
afterAll(() => crew?.dispose());

const planted = {
  question: 'Shall the zebrafinch be greeted by the old name?',
  answer: 'No, by the name of the quaggamire.',
  late: 'Or rather by that of the wombatsong.',
  permission: 'git push origin ocelotdrum',
  note: 'because of the marmotbell',
  tell: 'Mind the narwhalkite as you go.',
  refusedTell: 'And the pangolinharp at the end.',
  refusedAnswer: 'Yes, by the vicunachime.',
};
const words = Object.values(planted).map((text) => /\w*(?:finch|mire|song|drum|bell|chime|kite|harp)\b/.exec(text)![0]);

test('no text of a question, an answer, a permission or a told sentence gets into an event, an audit export or a log file (S-62)', async () => {
  const run = await crew.run(
    makeMakeRepository(join(crew.root, 'repository')),
    crew.request('Wait for a human', [['ask', planted.question], ['mayRun', planted.permission], ['hang']]),
  );
  const { id, workKey } = await crew.session(run);
  const question = await crew.decision(run, 'escalation_answer');
  await whileTheStoreRefuses('escalation', async () => {
    const failed = await crew.send(
      'PUT',
      `/api/decisions/${question.id}/verdict`,
      { verdict: 'respond', text: planted.answer },
      { proof: true },
    );
    expect(failed.status).toBe(500);
  });
  await crew.settle(question.id, { verdict: 'respond', text: planted.answer });
  // Refused: the question has its answer.
  const late = await crew.send('PUT', `/api/decisions/${question.id}/verdict`, {
    verdict: 'respond',
    text: planted.late,
  });
  expect(late.status).toBeGreaterThanOrEqual(400);
  const call = await crew.decision(run, 'call_approval');
  await crew.settle(call.id, { verdict: 'refuse', note: planted.note });
  await crew.must(['tell', workKey, planted.tell]);
  await crew.must(['stop', workKey]);
  expect((await crew.cli(['tell', workKey, planted.refusedTell])).code).not.toBe(0);
  expect((await crew.cli(['respond', workKey, planted.refusedAnswer], { proof: true })).code).not.toBe(0);
  await crew.until('the session to end', async () => (await crew.session(run)).state === 'ABORTED');

  const events = readEvents();
  expect(events).toContain(id);
  expect(plantedIn(events)).toEqual([]);
  for (const view of ['events', 'rejections', 'evidence']) {
    const exported = String(await crew.get(`/api/audit/export?view=${view}`));
    expect(exported, view).not.toBe('');
    expect(plantedIn(exported), view).toEqual([]);
  }
  const logs = logFiles();
  expect(logs).toContain(join(crew.home, 'logs', 'server.log'));
  expect(readFileSync(join(crew.home, 'logs', 'server.log'), 'utf8')).toContain('refused by the test');
  for (const file of logs) expect(plantedIn(readFileSync(file, 'latin1')), file).toEqual([]);
  // They were there to be found: the tables of questions and calls hold them.
  const stored =
    readFileSync(join(crew.home, 'chantier.db'), 'latin1') + readFileSync(join(crew.home, 'chantier.db-wal'), 'latin1');
  expect(plantedIn(stored)).toEqual(expect.arrayContaining(['zebrafinch', 'quaggamire', 'ocelotdrum', 'marmotbell']));
});

function plantedIn(text: string): string[] {
  return words.filter((word) => text.includes(word));
}

/** Makes each change of a row of `table` fail meanwhile, so that the server has a fault to write into its log. */
async function whileTheStoreRefuses(table: string, act: () => Promise<void>): Promise<void> {
  const db = new DatabaseSync(join(crew.home, 'chantier.db'), { timeout: 10_000 });
  try {
    db.exec(`CREATE TRIGGER refuses BEFORE UPDATE ON ${table} BEGIN SELECT RAISE(ABORT, 'refused by the test'); END`);
    await act();
  } finally {
    db.exec('DROP TRIGGER IF EXISTS refuses');
    db.close();
  }
}

/** Every row of the table of events, whole. */
function readEvents(): string {
  const db = new DatabaseSync(join(crew.home, 'chantier.db'), { readOnly: true });
  try {
    return JSON.stringify(db.prepare('SELECT * FROM event').all());
  } finally {
    db.close();
  }
}

/** Everything in the folder of logs, and what is called a log elsewhere; not the sessions' journals, which are the agents' own record. */
function logFiles(): string[] {
  const all = readdirSync(crew.home, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return all
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => !file.startsWith(join(crew.home, 'sessions') + sep))
    .filter((file) => file.startsWith(join(crew.home, 'logs') + sep) || /\.log(\.|$)/.test(file));
}
