// A server for the tests of adoption, made to be killed at any moment: starts one generation or adopts it, prompts its agent
// once, and answers its question with a text of a given length. What it has applied it stores by rename, as a transaction
// would. Arguments: sessions folder, session id, name of the fake agent, length of the answer (-1: never answers). Prints
// "begun" and what it applied: offset and kind, one event a line.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { mustOk, systemClock } from '../../src/kernel/index.ts';
import { driverFor } from '../../src/sessions/drivers/index.ts';
import type { DriverEvent } from '../../src/sessions/drivers/index.ts';
import { generationFolder, openGeneration, startGeneration } from '../../src/sessions/host/index.ts';
import { fakeAgent, fakeProfileOf } from './agent-world.ts';

const [sessionsFolder = '', sessionId = '', agent = '', answerLength = '-1'] = process.argv.slice(2);
const store = join(sessionsFolder, `${sessionId}.consumed`);
const consumedTo = existsSync(store) ? Number(readFileSync(store, 'utf8')) : 0;

console.log('0 begun');
const started = await startGeneration({ sessionsFolder, sessionId, generation: 1, command: fakeAgent(agent) });
const generation = started.ok
  ? started.value
  : mustOk(await openGeneration(generationFolder(sessionsFolder, sessionId, 1), { clock: systemClock }));

const profile = fakeProfileOf(agent);
const field = profile.driver === 'claude' ? 'question_1' : 'text';
const content = { [field]: 'x'.repeat(Math.max(0, Number(answerLength))) };
const link = await driverFor(profile).attach(
  generation,
  { profile, cwd: tmpdir(), mcpServers: [], consumedTo },
  {
    async apply(batch) {
      writeFileSync(`${store}.new`, String(batch.consumedTo));
      renameSync(`${store}.new`, store);
      for (const event of batch.events) {
        console.log(`${batch.consumedTo} ${event.kind}`);
        act(event);
      }
    },
    liveness: () => undefined,
  },
);
// What an earlier server had applied is not told again: what it had not done yet follows from the state.
const { phase, questions } = link.snapshot();
if (phase === 'open') prompt();
for (const { requestId } of questions) answer(requestId);

function act(event: DriverEvent): void {
  if (event.kind === 'opened') prompt();
  if (event.kind === 'question-asked') answer(event.question.requestId);
}

function prompt(): void {
  void link.prompt('p1', 'go').catch(() => undefined);
}

function answer(requestId: string): void {
  if (Number(answerLength) < 0) return;
  void link.answerQuestion(requestId, { action: 'accept', content }).catch(() => undefined);
}

// Links hold no process open: whoever serves does.
setInterval(() => undefined, 60_000);
