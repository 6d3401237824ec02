import { once } from 'node:events';

import { type Command, Option } from 'commander';

import { awaitReady, isReady, refuseHalfRestored, refuseInsideAgent, startDetached } from '../autostart.ts';
import type { StatusView } from '../../wire/index.ts';
import type { CliContext, CommonOptions } from '../context.ts';
import { ensureOperator } from '../first-run.ts';
import { failWith, type Outcome } from '../outcome.ts';
import { version } from '../version.ts';

/** How long a loser of the race for the home waits for the winner. */
const winnerReadyMs = 15_000;

interface UpOptions extends CommonOptions {
  port?: string;
  database?: string;
  detach?: boolean;
  /** Serve without the questions of the first run; how other verbs start the server. */
  serve?: boolean;
  installService?: boolean;
  uninstallService?: boolean;
}

export function define(command: Command, context: CliContext): void {
  command
    .option('--port <n>', 'TCP port on 127.0.0.1 (default 4747; 0 takes a free one)')
    .option('--database <url>', 'PostgreSQL instead of the embedded store')
    .option('--detach', 'Go on in the background')
    .option('--install-service', 'Write a systemd user unit for this home and start nothing')
    .option('--uninstall-service', 'Remove that unit again')
    .option('--passphrase-fd <n>', 'First run: read the new passphrase from this open file descriptor')
    .option('--operator <name>', 'First run: name of the operator')
    .addOption(new Option('--serve').hideHelp());
  context.action(command, async ({ options }) => {
    refuseInsideAgent(context.io.env);
    if (options.installService === true || options.uninstallService === true) {
      const { installService, uninstallService } = await import('../service-unit.ts');
      const change = options.installService === true ? installService : uninstallService;
      return change(context.paths, context.io.env);
    }
    const given = checkPort(options);
    return given.detach ? upDetached(context, given) : upHere(context, given);
  });
}

async function upDetached(context: CliContext, options: UpOptions): Promise<Outcome> {
  const args = [
    ...(options.port === undefined ? [] : ['--port', options.port]),
    ...(options.database === undefined ? [] : ['--database', options.database]),
  ];
  const wasThere = await awaitReady(context.paths, 1);
  if (!wasThere) await startDetached({ paths: context.paths, env: context.io.env, args });
  try {
    await ensureOperator(context, options);
  } catch (error) {
    // Nothing half done: without an operator nothing can start, so the server does not stay either.
    if (!wasThere) await context.client().send('PUT', '/api/instance/shutdown', { body: {} });
    throw error;
  }
  if (wasThere) return runsAlready(context);
  const running = await runningServer(context);
  const text = `Chantier ${version} runs at ${running.url} (pid ${running.pid}); "chantier down" ends it.`;
  return { json: { ...running, version, started: true }, text };
}

async function upHere(context: CliContext, options: UpOptions): Promise<Outcome> {
  const { acquireInstanceLock } = await import('../../store/index.ts');
  await refuseHalfRestored(context.paths);
  const lock = acquireInstanceLock(context.paths);
  if (!lock.held) return anotherOne(context, options);
  const { serve } = await import('../../main.ts');
  const served = await serve({
    paths: context.paths,
    lock,
    env: context.io.env,
    ...(options.port === undefined ? {} : { port: Number(options.port) }),
    ...(options.database === undefined ? {} : { databaseUrl: options.database }),
  });
  const { notifyService } = await import('../notify-service.ts');
  const stopNotices = notifyService(context.io.env, () => isReady(context.paths));
  try {
    if (!options.serve) await ensureOperator(context, options);
    context.io.err(`Chantier ${version} at ${served.url}. Ctrl-C ends the server; agents go on.\n`);
    const interrupted = context.io.signal.aborted ? Promise.resolve() : once(context.io.signal, 'abort');
    await Promise.race([interrupted, served.ended]);
  } finally {
    stopNotices();
    await served.stop();
    lock.release();
  }
  return { json: { url: served.url, version, ended: true }, text: '' };
}

async function anotherOne(context: CliContext, options: UpOptions): Promise<Outcome> {
  const ready = await awaitReady(context.paths, winnerReadyMs);
  if (!ready) {
    throw failWith(
      'held',
      'home_held',
      `Another process holds ${context.paths.home} and is not ready after ${winnerReadyMs / 1000} s.`,
    );
  }
  if (options.serve) return { json: await runningServer(context), text: '' };
  return runsAlready(context);
}

/** What was wanted is so: exit 0. Another version is not what was wanted, so that is refused with the way to it (exit 4). */
async function runsAlready(context: CliContext): Promise<Outcome> {
  const running = await runningServer(context);
  const theirs = (await context.client().send<StatusView>('GET', '/api/status')).version;
  if (theirs !== version)
    throw failWith(
      'held',
      'other_version_runs',
      `Chantier ${theirs} runs for ${context.paths.home} at ${running.url} (pid ${running.pid}), and this is ${version}: "chantier down", then "chantier up" again; agents go on meanwhile.`,
      { ...running, running: theirs, version },
    );
  const text = `Chantier ${version} runs already at ${running.url} (pid ${running.pid}); "chantier down" ends it.`;
  return { json: { ...running, version, started: false }, text };
}

async function runningServer(context: CliContext): Promise<{ url: string; pid: number }> {
  const { readRunningServer } = await import('../../store/index.ts');
  const running = readRunningServer(context.paths);
  return { url: running?.address ?? '', pid: running?.pid ?? 0 };
}

function checkPort(options: UpOptions): UpOptions {
  const { port } = options;
  if (port !== undefined && (!/^\d{1,5}$/.test(port) || Number(port) > 65_535)) {
    throw failWith('invalid', 'bad_port', `--port takes a number from 0 to 65535, not ${port}.`);
  }
  return options;
}
