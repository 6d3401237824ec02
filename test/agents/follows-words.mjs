// An agent of either role that does what the request says: a line `author: [[step, …], …]` or `reviewer: [[…], …]` holds the
// steps of each turn, the last list those of all further turns. Turns are counted in the agent's home, so they go on when a
// conversation is resumed. Tools are called straight at the session's socket, without the MCP bridge: that saves a process.
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { join } from 'node:path';

import { runScripted } from '../../examples/agents/scripted-agent.mjs';

const role = process.argv[2];
const kept = join(process.env.HOME, `${role}-words.json`);

const does = {
  write: (turn, path, text) => turn.write(path, text),
  run: (turn, ...command) => turn.run(...command),
  commit: (turn, message) => turn.commit(message),
  say: (turn, text) => turn.say(text),
  /** Says what no request may hold. */
  sayBytes: (turn, base64) => turn.say(Buffer.from(base64, 'base64').toString('utf8')),
  link: (_turn, target, path) => symlinkSync(target, join(process.env.HOME, path)),
  makeFolder: (_turn, path) => mkdirSync(join(process.env.HOME, path), { recursive: true }),
  mayRun: async (turn, command) => turn.say(`${command}: ${(await turn.mayRun(command)) ? 'allowed' : 'refused'}`),
  done: (turn, summary) => tell(turn, 'PUT', '/api/agent/completion', { summary }),
  ask: (turn, text) => tell(turn, 'POST', '/api/agent/questions', { text }),
  verdict: (turn, verdict, findings, coverage) =>
    tell(turn, 'PUT', '/api/agent/review', { verdict, summary: `I say ${verdict}.`, findings, coverage }),
  /** Wants each FIXME of the named files away, else approves. */
  judge: (turn, files) => {
    const bad = files.filter((file) => turn.read(file).includes('FIXME'));
    const findings = bad.map((file) => ({
      file,
      line: 1,
      text: 'A FIXME is left',
      scenario: 'Whoever reads it trips.',
    }));
    return does.verdict(turn, bad.length > 0 ? 'request_changes' : 'approve', findings, files);
  },
  spend: (turn, amounts) => turn.spend(amounts),
  limit: () => {
    throw new Error('You have reached your usage limit; try again in 90 s');
  },
  hang: () => new Promise(() => {}),
  /** Works until its turn is cancelled, as real agents do. */
  untilCancelled: async (turn) => {
    while (!turn.isCancelled()) await new Promise((wake) => setTimeout(wake, 20));
  },
  die: () => process.exit(1),
};

runScripted(async (turn) => {
  const told = turn.text.split('\n').find((line) => line.startsWith(`${role}: `));
  const known = readKept();
  if (told) known.turns = JSON.parse(told.slice(role.length + 2));
  const steps = known.turns[Math.min(known.done, known.turns.length - 1)] ?? [];
  known.done += 1;
  mkdirSync(process.env.HOME, { recursive: true });
  writeFileSync(kept, JSON.stringify(known));
  turn.memory.turns = (turn.memory.turns ?? 0) + 1;
  turn.say(`turn ${turn.memory.turns} of this conversation`);
  for (const [name, ...args] of steps) await does[name](turn, ...args);
});

function readKept() {
  try {
    return JSON.parse(readFileSync(kept, 'utf8'));
  } catch {
    return { turns: [[]], done: 0 }; // the first turn in this home
  }
}

/** Calls the server as this session; the agent says what came back and goes on. */
function tell(turn, method, path, body) {
  return new Promise((resolve, reject) => {
    const headers = {
      host: 'localhost',
      authorization: `Bearer ${process.env.CHANTIER_TOKEN}`,
      'content-type': 'application/json',
      'idempotency-key': randomUUID(),
    };
    const sending = request({ socketPath: process.env.CHANTIER_SOCKET, method, path, headers }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString('utf8');
        turn.say(`${path} ${answer.statusCode} ${text}`);
        resolve(text);
      });
    });
    sending.once('error', reject);
    sending.end(JSON.stringify(body));
  });
}
