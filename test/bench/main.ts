/**
 * `npm run bench [-- --only NAME] [-- --sessions N]`: one JSON document on stdout with figures of this machine, each beside a
 * baseline of the same run where there is one, and the target of design section 11. Progress on stderr. Ratios count; the
 * milliseconds are those of this machine and of whatever else it was doing (`load`).
 */
import { cpus, loadavg, totalmem } from 'node:os';
import { parseArgs } from 'node:util';

import type { Figure } from './figure.ts';
import { benchFlood } from './flood.ts';
import { benchIdle } from './idle.ts';
import { benchLanding } from './landing.ts';
import { benchCliStart, benchServerStart } from './programs.ts';
import { benchBarrier } from './sandbox.ts';
import { benchCrash, benchHang, benchQuestion } from './sessions.ts';
import { benchManyChecks, benchSecondFolder } from './work-folders.ts';
import { benchImportTasks, benchReadyTasks, benchTransaction } from './store.ts';

const { values } = parseArgs({ options: { only: { type: 'string' }, sessions: { type: 'string', default: '10' } } });
const sessions = Number(values.sessions);

const benches: Readonly<Record<string, () => Promise<Figure[]>>> = {
  transaction: benchTransaction,
  ready: benchReadyTasks,
  import: benchImportTasks,
  cli: benchCliStart,
  server: benchServerStart,
  question: () => benchQuestion(sessions),
  crash: () => benchCrash(sessions),
  hang: () => benchHang(sessions),
  flood: benchFlood,
  idle: () => benchIdle(sessions),
  landing: benchLanding,
  sandbox: benchBarrier,
  folder: () => benchSecondFolder(),
  checks: () => benchManyChecks(),
};

const wanted = Object.entries(benches).filter(([name]) => values.only === undefined || name.includes(values.only));
if (wanted.length === 0) {
  process.stderr.write(`No bench is named ${values.only}; there are ${Object.keys(benches).join(', ')}.\n`);
  process.exit(2);
}
const before = loadavg();
const figures: Figure[] = [];
for (const [name, run] of wanted) {
  process.stderr.write(`${name}…\n`);
  figures.push(...(await run()));
}
const machine = {
  cpu: cpus()[0]?.model,
  cores: cpus().length,
  memoryGb: Math.round(totalmem() / 1024 ** 3),
  platform: `${process.platform} ${process.arch}`,
  node: process.version,
  sqlite: process.versions.sqlite,
};
const document = { at: new Date().toISOString(), machine, load: { before, after: loadavg() }, figures };
process.stdout.write(`${JSON.stringify(document, undefined, 2)}\n`);
