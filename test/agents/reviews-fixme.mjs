// A reviewer that wants each `FIXME` away, has no word for a change with `SPEECHLESS` and approves everything else. It reads
// the files that its brief names.
import { runScripted } from '../../examples/agents/scripted-agent.mjs';

runScripted(async (turn) => {
  const list = /<<<DATA files (\w+)\n([^]*?)\n\1 DATA>>>/.exec(turn.text)?.[2] ?? '';
  const files = list.split('\n').map((line) => JSON.parse(line));
  if (files.some((file) => lineWith(turn, file, 'SPEECHLESS') > 0)) return;
  const findings = files.flatMap((file) => {
    const line = lineWith(turn, file, 'FIXME');
    return line === 0 ? [] : [{ file, line, text: 'A FIXME is left', scenario: 'Whoever reads this trips over it.' }];
  });
  const verdict = findings.length > 0 ? 'request_changes' : 'approve';
  await turn.call('submit_review', { verdict, summary: `${findings.length} found`, findings, coverage: files });
  await turn.call('report_done', { summary: 'reviewed' });
});

/** 0 when there is none, or the file is gone. */
function lineWith(turn, file, word) {
  try {
    return (
      turn
        .read(file)
        .split('\n')
        .findIndex((text) => text.includes(word)) + 1
    );
  } catch {
    return 0;
  }
}
