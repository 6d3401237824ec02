/** The demo's author: adds a greeting, asks one question, tries one crossing, and mends what the review finds. */
import { runScripted } from './scripted-agent.mjs';

runScripted(
  async (turn) => {
    if (turn.memory.delivered) return mend(turn);
    turn.say('I will add `greetFormally` beside `greet`, with a test.');
    const answer = await turn.call('ask_human', {
      text: 'Which word should the formal greeting begin with: "Good day" or "Greetings"?',
    });
    const word = /greetings/i.test(answer) ? 'Greetings' : 'Good day';
    turn.write('src/greet.js', source(word, false));
    turn.write('test/greet.test.js', tests(word, false));
    turn.commit(`Add a formal greeting that begins with "${word}"`);
    const pushed = await turn.mayRun('git push origin HEAD');
    turn.say(
      pushed
        ? 'The push was allowed, but there is nowhere to push to.'
        : 'The push was refused; the review goes its usual way.',
    );
    turn.memory.word = word;
    turn.memory.delivered = true;
    await turn.call('report_done', { summary: 'greetFormally with a test' });
  },
  { name: 'demo-author' },
);

async function mend(turn) {
  turn.say('The reviewer is right: an empty name must not give "Good day, !".');
  turn.write('src/greet.js', source(turn.memory.word, true));
  turn.write('test/greet.test.js', tests(turn.memory.word, true));
  turn.commit('Refuse to greet an empty name');
  await turn.call('report_done', { summary: 'empty names are refused now' });
}

function source(word, refusesEmpty) {
  const guard = refusesEmpty ? `  if (name.trim() === '') throw new RangeError('the name is empty');\n` : '';
  return `export function greet(name) {
  return \`Hello, \${name}!\`;
}

export function greetFormally(name) {
${guard}  return \`${word}, \${name}.\`;
}
`;
}

function tests(word, refusesEmpty) {
  const extra = refusesEmpty
    ? `
test('refuses to greet an empty name', () => {
  assert.throws(() => greetFormally(' '), RangeError);
});
`
    : '';
  return `import assert from 'node:assert/strict';
import test from 'node:test';

import { greet, greetFormally } from '../src/greet.js';

test('greets', () => {
  assert.equal(greet('Ada'), 'Hello, Ada!');
});

test('greets formally', () => {
  assert.equal(greetFormally('Ada'), '${word}, Ada.');
});
${extra}`;
}
