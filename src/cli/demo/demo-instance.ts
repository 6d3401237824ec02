import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { operatorSocketOf, pathsOf } from '../../config/index.ts';
import type { FirstRunLink, ProofView, SandboxView, StatusView } from '../../wire/index.ts';
import { serverEnvironment } from '../autostart.ts';
import { type Client, createClient } from '../client.ts';
import { readOperatorToken } from '../operator-token.ts';
import { CommandFailure, failWith } from '../outcome.ts';

/** The demo's own server on its own home, and its operator. */
export interface DemoInstance {
  client: Client;
  /** Address of the console. */
  url: string;
  passphrase: string;
  sandbox: SandboxView;
  /** A proof for one decision, as a human's passphrase gives it. */
  proof(): Promise<string>;
  /** Ends server and agents. */
  stop(): Promise<void>;
}

/** How long the server may take until it answers. */
const readyWithinMs = 60_000;

/**
 * Starts a server on a fresh home, with a random passphrase. Where no sandbox works on this machine the server is started
 * again without one: the demo's agents are our own scripts (design section 4), and its list of steps says so.
 */
export async function startDemoInstance(home: string, env: NodeJS.ProcessEnv): Promise<DemoInstance> {
  const passphrase = randomBytes(12).toString('base64url');
  mkdirSync(home, { recursive: true, mode: 0o700 });
  let server = await startServer(home, env);
  let status = await server.client.send<StatusView>('GET', '/api/status');
  if (!status.sandbox.holds) {
    await endServer(server.child, server.client);
    server = await startServer(home, { ...env, CHANTIER_SANDBOX: 'none' });
    status = await server.client.send<StatusView>('GET', '/api/status');
  }
  const { child, client, url } = server;
  await client.send<FirstRunLink>('POST', '/api/first-run', { body: { name: 'operator', passphrase } });
  const proof = async (): Promise<string> =>
    (await client.send<ProofView>('POST', '/api/proofs', { body: { passphrase } })).proof;
  await client.send('PUT', '/api/instance/setup', { body: { phase: 3 }, proof: await proof() });
  return { client, url, passphrase, sandbox: status.sandbox, proof, stop: () => endServer(child, client) };
}

async function startServer(
  home: string,
  env: NodeJS.ProcessEnv,
): Promise<{ child: ChildProcess; client: Client; url: string }> {
  const paths = pathsOf(home);
  const program = process.argv[1] ?? '';
  const child = spawn(process.execPath, [...process.execArgv, program, 'up', '--serve', '--port', '0'], {
    cwd: '/',
    env: serverEnvironment(env, home),
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  let errors = '';
  child.stderr?.on('data', (chunk: Buffer) => (errors = (errors + chunk.toString()).slice(-4_000)));
  const giveUpAt = performance.now() + readyWithinMs;
  while (performance.now() < giveUpAt) {
    if (child.exitCode !== null)
      throw failWith('unreachable', 'demo_server_ended', `The demo's server ended at once: ${errors.trim()}`);
    const client = existsSync(paths.operatorToken)
      ? createClient({ socket: operatorSocketOf(home) ?? paths.socket }, readOperatorToken(paths.operatorToken))
      : undefined;
    const isReady = client
      ? await client.send('GET', '/readyz', { timeoutMs: 2_000 }).then(
          () => true,
          () => false,
        )
      : false;
    if (client && isReady) {
      const { readRunningServer } = await import('../../store/index.ts');
      const running = readRunningServer(paths);
      if (running?.address) return { child, client, url: running.address };
    }
    await sleep(50);
  }
  child.kill('SIGKILL');
  throw failWith(
    'unreachable',
    'demo_server_away',
    `The demo's server did not come up within ${readyWithinMs / 1000} s. See ${join(paths.logs, 'server.log')}.`,
  );
}

async function endServer(child: ChildProcess, client: Client): Promise<void> {
  if (child.exitCode !== null) return;
  const gone = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await client.send('PUT', '/api/instance/shutdown', { body: { stopAgents: true } }).catch((error: unknown) => {
    if (!(error instanceof CommandFailure)) throw error;
  });
  const timer = setTimeout(() => child.kill('SIGKILL'), 15_000);
  await gone;
  clearTimeout(timer);
}
