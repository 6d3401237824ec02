// A server for the tests of adoption: starts or adopts one generation, prompts it, and answers its question with a text of a
// given length as soon as it comes, so that the test can kill it at any moment. Arguments: sessions folder, session id, name
// of the fake agent, length of the answer (-1: never answers). Prints what it does, one word a line.
import { tmpdir } from 'node:os';

import { mustOk } from '../../src/kernel/index.ts';
import { acpDriver } from '../../src/sessions/drivers/index.ts';
import { startGeneration } from '../../src/sessions/host/index.ts';
import { fakeAgent, fakeProfile } from './agent-world.ts';

const [sessionsFolder = '', sessionId = '', agent = '', answerLength = '-1'] = process.argv.slice(2);
const command = fakeAgent(agent);
const generation = mustOk(await startGeneration({ sessionsFolder, sessionId, generation: 1, command }));
const link = await acpDriver.attach(
  generation,
  { profile: fakeProfile(), cwd: tmpdir(), mcpServers: [] },
  {
    async apply({ events, consumedTo }) {
      for (const event of events) {
        console.log(`${consumedTo} ${event.kind}`);
        if (event.kind === 'opened') void link.prompt('p1', 'go').catch(() => undefined);
        if (event.kind === 'question-asked' && Number(answerLength) >= 0) {
          const content = { text: 'x'.repeat(Number(answerLength)) };
          void link.answerQuestion(event.question.requestId, { action: 'accept', content }).catch(() => undefined);
        }
      }
    },
    liveness: () => undefined,
  },
);

// Links hold no process open: whoever serves does.
setInterval(() => undefined, 60_000);
