// An author that does what stands in its request: a line `steps: [...]` for the first turn, a line `feedback: [...]` for
// each later one. A step is a list: its name, then its arguments. What was asked last replaces `{answer}` in texts.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';

import { runScripted } from '../../examples/agents/scripted-agent.mjs';

const kept = join(process.env.HOME ?? '.', 'steps.json');
const statuses = [];
let answer = '';

const does = {
  write: (turn, path, text) => turn.write(path, filled(text)),
  remove: (turn, path) => rmSync(join(turn.cwd, path), { recursive: true }),
  run: (turn, ...command) => turn.run(...command.map(filled)),
  commit: (turn, message) => turn.commit(filled(message)),
  say: (turn, text) => turn.say(text),
  sayMuch: (turn, bytes) => turn.say('x'.repeat(bytes)),
  async ask(turn, text) {
    let heard = await turn.call('ask_human', { text });
    while (!heard.startsWith('ANSWER: ')) heard = await turn.call('wait_answer');
    answer = heard.slice('ANSWER: '.length);
  },
  /** Several at once; goes on when all are answered. */
  askAll: (turn, texts) => Promise.all(texts.map((text) => turn.call('ask_human', { text }))),
  mayRun: async (turn, command) => {
    answer = (await turn.mayRun(command)) ? 'allowed' : 'refused';
  },
  call: async (turn, tool, args) => {
    answer = await turn.call(tool, args).catch((error) => `refused: ${error.message}`);
  },
  done: (turn, summary = 'done') => turn.call('report_done', { summary }),
  /** Until the turn is cancelled. */
  async hang(turn) {
    while (!turn.isCancelled()) await new Promise((later) => setTimeout(later, 20));
  },
  dieOnce: () => isFirstTime('died') && process.exit(1),
  /** Stands still, and answers no ping. */
  freezeOnce: () => isFirstTime('frozen') && process.kill(process.pid, 'SIGSTOP'),
  limitOnce() {
    if (isFirstTime('limited')) throw new Error('You have reached your usage limit; try again in 300 s');
  },
  sayHeard: (turn) => turn.say(`heard: ${turn.text}`),
  die: (_turn, code = 1) => process.exit(code),
  /** Sends a request to the server at the one door of a session, with `token` or its own. */
  http: async (_turn, method, path, body, token) => {
    statuses.push(await send(method, path, body, token ?? undefined));
  },
  /** Sends each of `[method, path]` with each of the tokens, null being its own, one after the other. */
  async httpEach(turn, requests, body, tokens) {
    for (const [method, path] of requests) for (const token of tokens) await does.http(turn, method, path, body, token);
  },
  /** Opens so many connections to the server and keeps what it gets. */
  connectOften: (_turn, count) =>
    Promise.all(
      Array.from({ length: count }, () => {
        const socket = connect(process.env.CHANTIER_SOCKET);
        return new Promise((settled) => {
          socket.on('error', settled);
          socket.on('connect', settled);
        });
      }),
    ),
  /** Reports its status so often, one right after the other. */
  async reportOften(_turn, count) {
    for (let i = 0; i < count; i += 1) statuses.push(await send('PUT', '/api/agent/status', { text: `status ${i}` }));
  },
  writeStatuses: (turn, path) => turn.write(path, `${JSON.stringify(statuses)}\n`),
};

runScripted(async (turn) => {
  const told = { steps: lineOf(turn.text, 'steps'), feedback: lineOf(turn.text, 'feedback') };
  if (told.steps) {
    mkdirSync(process.env.HOME, { recursive: true });
    writeFileSync(kept, JSON.stringify(told));
  }
  const known = JSON.parse(readFileSync(kept, 'utf8'));
  turn.memory.turns = (turn.memory.turns ?? 0) + 1;
  turn.say(`turn ${turn.memory.turns} of this conversation`);
  const isFirst = told.steps !== undefined && !turn.text.includes('Earlier work stands on this branch');
  for (const [name, ...args] of (isFirst ? known.steps : known.feedback) ?? []) await does[name](turn, ...args);
});

/** Once in the life of this home, whatever dies meanwhile. */
function isFirstTime(name) {
  const marker = join(process.env.HOME, name);
  if (existsSync(marker)) return false;
  writeFileSync(marker, '');
  return true;
}

function filled(text) {
  return text.replaceAll('{answer}', answer).replaceAll('{token}', process.env.CHANTIER_TOKEN);
}

function lineOf(text, name) {
  const line = text.split('\n').find((one) => one.startsWith(`${name}: `));
  return line === undefined ? undefined : JSON.parse(line.slice(name.length + 2));
}

function send(method, path, body, token = process.env.CHANTIER_TOKEN) {
  return new Promise((resolve) => {
    const text = method === 'GET' ? '' : JSON.stringify(body ?? {});
    const headers = {
      host: 'localhost',
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(text),
      'idempotency-key': `try-${statuses.length}`,
      'chantier-proof': token,
    };
    const sending = request({ socketPath: process.env.CHANTIER_SOCKET, method, path, headers }, (message) => {
      message.resume();
      resolve(message.statusCode);
    });
    sending.once('error', () => resolve(0));
    sending.end(text);
  });
}
