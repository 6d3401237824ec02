import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

import { mustOk, newId, systemClock } from '../../src/kernel/index.ts';
import { openGeneration } from '../../src/sessions/host/index.ts';
import type { Generation } from '../../src/sessions/host/index.ts';
import type { AgentWorld } from './agent-world.ts';

/** A server of its own process that runs one fake agent (`short-lived-server.ts`), to be killed at any moment. */
export interface KillableServer {
  /** Waits for its word about an event; gives the offset that it had applied. */
  until(word: string): Promise<number>;
  /** Kills it at the moment at which `file` has grown by `size`, which no notice would tell soon enough. */
  killWhen(file: string, size: number): void;
  /** Kills it and takes over its generation, for the world to end. */
  kill(): Promise<Generation>;
}

/** Starts such servers for one test; `close` ends them, and leaves what they had started to the world. */
export class KillableServers {
  readonly #world: AgentWorld;
  readonly #servers: ChildProcess[] = [];
  readonly #folders: string[] = [];

  constructor(world: AgentWorld) {
    this.#world = world;
  }

  /** `answerLength` -1: it answers no question. */
  start(agent: string, answerLength = -1): KillableServer {
    const sessionId = newId<string>();
    const program = join(import.meta.dirname, 'short-lived-server.ts');
    const server = spawn(process.execPath, [program, this.#world.folder, sessionId, agent, String(answerLength)], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    this.#servers.push(server);
    const folder = join(this.#world.folder, sessionId, '1');
    this.#folders.push(folder);
    const words = createInterface({ input: server.stdout })[Symbol.asyncIterator]();
    return {
      until: (word) => untilWord(words, word),
      killWhen: (file, size) => killWhen(server, join(folder, file), file === 'in.next', size),
      kill: async () => {
        const ended = new Promise((resolve) => server.once('exit', resolve));
        server.kill('SIGKILL');
        await ended;
        const generation = mustOk(await openGeneration(folder, { clock: systemClock }));
        this.#world.generations.push(generation);
        return generation;
      },
    };
  }

  async close(): Promise<void> {
    for (const server of this.#servers.splice(0)) server.kill('SIGKILL');
    // What a server had started is ended even when the test failed before it took hold of it.
    for (const folder of this.#folders.splice(0)) {
      const opened = await openGeneration(folder, { clock: systemClock });
      if (opened.ok) this.#world.generations.push(opened.value);
    }
  }
}

async function untilWord(words: AsyncIterator<string>, word: string): Promise<number> {
  for (let next = await words.next(); !next.done; next = await words.next()) {
    const [offset, kind] = next.value.split(' ');
    if (kind === word) return Number(offset);
  }
  throw new Error(`the server ended before it said ${word}`);
}

function killWhen(server: ChildProcess, path: string, isFresh: boolean, size: number): void {
  const before = isFresh ? 0 : statSync(path).size;
  const deadline = performance.now() + 10_000;
  while (performance.now() < deadline) if (statSync(path).size >= before + size) break;
  server.kill('SIGKILL');
}
