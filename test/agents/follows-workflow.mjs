// Works by the workflow that stands in the repository (`workflow/steps.json`), whoever started it. What it found in its folder,
// each step, what each gate said and each verdict go into `workflow/journal.json`, which is committed with the work.
import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { runScripted } from '../../examples/agents/scripted-agent.mjs';

runScripted(async (turn) => {
  const journal = { found: filesOf(turn.cwd), steps: [] };
  for (const { step, write, gate } of JSON.parse(turn.read('workflow/steps.json'))) {
    for (const [path, text] of Object.entries(write ?? {})) turn.write(path, text);
    const exit = gate && spawnSync(gate[0], gate.slice(1), { cwd: turn.cwd }).status;
    journal.steps.push({
      step,
      ...(gate ? { gate: gate.join(' '), exit, verdict: exit === 0 ? 'PASS' : 'FAIL' } : {}),
    });
  }
  turn.write('workflow/journal.json', `${JSON.stringify(journal, null, 1)}\n`);
  turn.commit('Work as the workflow says');
  if (process.env.CHANTIER_SOCKET) await turn.call('report_done', { summary: 'Worked as the workflow says.' });
});

/** Every file of the folder but git's own, with its digest. */
function filesOf(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  const files = entries.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name));
  const digest = (file) => createHash('sha256').update(readFileSync(file)).digest('hex');
  const named = files
    .map((file) => [file.slice(folder.length + 1), file])
    .filter(([name]) => !name.startsWith('.git/'));
  return Object.fromEntries(named.toSorted().map(([name, file]) => [name, digest(file)]));
}
