// A reviewer that wants each `FIXME` away and approves everything else. It reads only what the change touches.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { runScripted } from '../../examples/agents/scripted-agent.mjs';

runScripted(async (turn) => {
  const patch = readFileSync(join(process.env.HOME, 'review', 'change.patch'), 'utf8');
  const files = [...patch.matchAll(/^\+\+\+ b\/(.*)$/gm)].map((match) => match[1]);
  const findings = files.flatMap((file) => {
    const line =
      turn
        .read(file)
        .split('\n')
        .findIndex((text) => text.includes('FIXME')) + 1;
    return line === 0
      ? []
      : [{ file, line, text: 'A FIXME is left', scenario: 'Whoever reads this trips over the FIXME.' }];
  });
  const verdict = findings.length > 0 ? 'request_changes' : 'approve';
  await turn.call('submit_review', { verdict, summary: `${findings.length} found`, findings, coverage: files });
  await turn.call('report_done', { summary: 'reviewed' });
});
