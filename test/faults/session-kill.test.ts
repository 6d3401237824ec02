import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { expect, test } from 'vitest';

import { mustOk, newId, systemClock } from '../../src/kernel/index.ts';
import { generationFolder, openGeneration } from '../../src/sessions/host/index.ts';
import { AgentWorld } from '../agents/agent-world.ts';

const program = join(import.meta.dirname, '../agents/short-lived-server.ts');
const rounds = process.env.CHANTIER_TEST_FULL === '1' ? 60 : 8;
const seed = Number(process.env.CHANTIER_TEST_SEED ?? Date.now() % 1_000_000);

/** Numbers between 0 and 1 that follow from the seed. */
function makeRandom(state: number): () => number {
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 4_294_967_296;
    return state / 4_294_967_296;
  };
}

/** Runs one server on the session and kills it with -9 `ms` after it began. */
async function runServer(folder: string, sessionId: string, answerLength: number, ms: number): Promise<void> {
  const args = [program, folder, sessionId, 'counts-answers', String(answerLength)];
  const server = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = new Promise((resolve) => server.once('exit', resolve));
  await once(server.stdout, 'data');
  server.stdout.resume();
  await sleep(ms);
  server.kill('SIGKILL');
  await ended;
}

test(
  `servers killed at random moments: one prompt, one answer, one turn, in one agent process (seed ${seed})`,
  { timeout: 600_000 },
  async () => {
    const random = makeRandom(seed);
    const length = 3 * 1024 * 1024;
    let completed = 0;
    for (let round = 0; round < rounds; round += 1) {
      const world = new AgentWorld();
      try {
        const sessionId = newId<string>();
        for (let kill = 0; kill < 3; kill += 1) await runServer(world.folder, sessionId, length, random() * 600);
        const folder = generationFolder(world.folder, sessionId, 1);
        if (!existsSync(folder)) continue;
        const generation = mustOk(await openGeneration(folder, { clock: systemClock }));
        world.generations.push(generation);
        const { link, witness } = await world.attach(generation, { consumedTo: 0 });
        // A server that died before it made the process start leaves a folder that never comes up (design 7).
        const end = await witness.until(
          () =>
            witness.events.find((event) => event.kind === 'opened' || event.kind === 'start-failed') ??
            witness.flags.find((flag) => flag.kind === 'exited'),
          'the opening',
        );
        if (end.kind !== 'opened') {
          expect(generation.record()).toBeUndefined();
          continue;
        }
        mustOk(await link.prompt('p1', 'go'));
        const { question } = await witness.event('question-asked');
        const answer = { action: 'accept', content: { text: 'x'.repeat(length) } } as const;
        mustOk(await link.answerQuestion(question.requestId, answer));
        await witness.event('turn-ended');
        const { pid } = generation.record()!.agent;
        expect(JSON.parse(witness.text())).toEqual({ pid, answers: 1, tornLines: 0, length });
        const frames = readFileSync(generation.files.inbox, 'utf8')
          .split('\n')
          .slice(0, -1)
          .map((line) => JSON.parse(line) as { method?: string; result?: unknown });
        for (const method of ['initialize', 'session/new', 'session/set_mode', 'session/prompt'])
          expect(frames.filter((frame) => frame.method === method)).toHaveLength(1);
        expect(frames.filter((frame) => frame.result !== undefined)).toHaveLength(1);
        completed += 1;
      } finally {
        await world.close();
      }
    }
    expect(completed).toBeGreaterThan(rounds / 2);
  },
);
