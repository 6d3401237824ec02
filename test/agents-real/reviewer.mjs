// A reviewer that wants each `FIXME` away. What it says to the author stands in the request, encoded so that nobody else takes it
// for words of its own: `feedback: <base64>`.
import { runScripted } from '../../examples/agents/scripted-agent.mjs';

runScripted(async (turn) => {
  const list = /<<<DATA files (\w+)\n([^]*?)\n\1 DATA>>>/.exec(turn.text)?.[2] ?? '';
  const files = list.split('\n').map((line) => JSON.parse(line));
  const words = Buffer.from(/^feedback: (\S+)$/m.exec(turn.text)?.[1] ?? '', 'base64').toString('utf8');
  const findings = files.flatMap((file) => {
    const lines = turn.read(file).split('\n');
    const line = lines.findIndex((text) => text.includes('FIXME')) + 1;
    return line === 0 ? [] : [{ file, line, text: words, scenario: 'Whoever reads this trips over the FIXME.' }];
  });
  const verdict = findings.length > 0 ? 'request_changes' : 'approve';
  await turn.call('submit_review', { verdict, summary: `${findings.length} found`, findings, coverage: files });
  await turn.call('report_done', { summary: 'reviewed' });
});
