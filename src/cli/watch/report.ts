import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

import type { HookOrderView, WatchedOutcomeView } from '../../wire/index.ts';
import type { CliContext } from '../context.ts';
import { CommandFailure } from '../outcome.ts';

/** More than this of a hook's input is not reported: the agent then asks in its own terminal. */
const maxInput = 1024 * 1024;
/** One question to the server, in ms; the server withdraws a request whose hook is silent for three times that. */
const pollMs = 20_000;
/** So long a server that is away (an upgrade, a restart) is waited for while a human is asked. */
const serverAwayMs = 10 * 60_000;

/**
 * What an agent's hook runs: reports, and for a question waits until a human has answered; gives what is printed for the
 * agent. It never fails and never starts a server: without an answer the agent goes on as if nobody watched.
 */
export async function reportHook(context: CliContext, agent: string): Promise<string> {
  const { io } = context;
  // Agents of ours have a supervisor; a hook that came into their home by some way stays silent.
  if (io.env.CHANTIER_RUN !== undefined) return '';
  try {
    const text = await io.readStdin();
    if (text.length > maxInput) return '';
    const requestId = randomUUID();
    const input = JSON.parse(text) as unknown;
    const body = { agent, input, requestId, ...processOfAgent() };
    const order = await context
      .client()
      .send<HookOrderView>('POST', '/api/watched-hooks', { body, key: requestId, timeoutMs: 5_000 });
    return order.wait ? await waitForAnswer(context, order.requestId, order.holdMs) : '';
  } catch {
    return '';
  }
}

async function waitForAnswer(context: CliContext, requestId: string, holdMs: number | null): Promise<string> {
  const { signal } = context.io;
  const path = `/api/watched-requests/${requestId}`;
  const began = performance.now();
  const left = (): number => (holdMs === null ? Infinity : holdMs - (performance.now() - began));
  let lastHeard = performance.now();
  while (!signal.aborted && left() > 0 && performance.now() - lastHeard < serverAwayMs) {
    try {
      const query = { waitMs: Math.floor(Math.min(pollMs, left())) };
      const outcome = await context
        .client()
        .send<WatchedOutcomeView>('GET', path, { query, signal, timeoutMs: 2 * pollMs });
      lastHeard = performance.now();
      if (outcome.state === 'answered') return JSON.stringify(outcome.output);
      if (outcome.state === 'void') return '';
    } catch (error) {
      if (error instanceof CommandFailure && error.exitCode !== 7) return '';
      await sleep(1_000, undefined, { signal }).catch(() => {});
    }
  }
  await context
    .client()
    .send('DELETE', path, { key: randomUUID(), timeoutMs: 2_000 })
    .catch(() => {}); // the server sees by itself that nobody asks any more
  return '';
}

/** The agent that runs this hook: the nearest ancestor that is no shell, with what makes it one process for good. */
function processOfAgent(): { process?: { pid: number; startTime: number; bootId: string } } {
  try {
    let pid = process.ppid;
    for (let steps = 0; steps < 5 && pid > 1; steps++) {
      const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
      const name = stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'));
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      if (!/^(sh|dash|bash|zsh)$/.test(name)) {
        const bootId = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim();
        return { process: { pid, startTime: Number(fields[19]), bootId } };
      }
      pid = Number(fields[1]);
    }
    return {};
  } catch {
    return {};
  }
}
