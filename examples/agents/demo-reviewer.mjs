/** The demo's reviewer: reads the change and asks for a guard against empty names before it approves. */
import { runScripted } from './scripted-agent.mjs';

runScripted(
  async (turn) => {
    const source = turn.read('src/greet.js');
    const line = source.split('\n').findIndex((text) => text.includes('greetFormally')) + 1;
    const files = ['src/greet.js', 'test/greet.test.js'];
    if (source.includes('RangeError')) {
      turn.say('The guard is there and it is tested.');
      await turn.call('submit_review', {
        verdict: 'approve',
        summary: 'Correct and tested.',
        findings: [],
        coverage: files,
      });
    } else {
      turn.say('An empty name gives a sentence without a name.');
      await turn.call('submit_review', {
        verdict: 'request_changes',
        summary: 'One case is missing.',
        coverage: files,
        findings: [
          {
            file: 'src/greet.js',
            line,
            text: 'Empty names are greeted',
            scenario: 'greetFormally("") answers "Good day, ." instead of refusing.',
          },
        ],
      });
    }
    await turn.call('report_done', { summary: 'reviewed' });
  },
  { name: 'demo-reviewer' },
);
