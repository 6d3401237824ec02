import { homedir } from 'node:os';
import { join } from 'node:path';

import { createAccess, createApp, ensureOperatorToken, readStoredSettings, watchMachine } from './app/index.ts';
import { type InstancePaths, loadConfig } from './config/index.ts';
import { forgeFolders, openForge, recoverForge } from './forge/index.ts';
import { Fault, systemActor } from './kernel/index.ts';
import { ensureNodeId } from './node-id.ts';
import { openBarrier } from './open-barrier.ts';
import { openLog } from './open-log.ts';
import { bridgeOf, consoleFolder, packageVersion } from './package-files.ts';
import { carryIn, type WallRule } from './sandbox/index.ts';
import { startServer } from './server/index.ts';
import { adoptNode, findByTokenHash } from './sessions/index.ts';
import { type InstanceLock, openStore, type Store } from './store/index.ts';

/** What one server process is started with; the caller holds the home (`acquireInstanceLock`). */
export interface ServeOptions {
  paths: InstancePaths;
  lock: InstanceLock & { held: true };
  env: NodeJS.ProcessEnv;
  /** Default: the setting `port`. */
  port?: number;
  /** PostgreSQL instead of the embedded store. */
  databaseUrl?: string;
  /** Hosts that agents may reach besides those that the settings name; no setting gives a rule an address. */
  rules?: readonly WallRule[];
}

/** A server that is ready. */
export interface Served {
  url: string;
  /** Resolves when somebody asked it to end. */
  ended: Promise<void>;
  /** Ends streams, loops and the store in order; agents go on. Safe twice. */
  stop(): Promise<void>;
}

/** The whole instance in its order: configuration → store → domains → app → server (design section 3). */
export async function serve(options: ServeOptions): Promise<Served> {
  const { paths, env } = options;
  const store = await openStore(options.databaseUrl === undefined ? { home: paths } : { url: options.databaseUrl });
  try {
    return await serveOver(store, options, paths, env);
  } catch (error) {
    await store.close();
    throw error;
  }
}

async function serveOver(
  store: Store,
  options: ServeOptions,
  paths: InstancePaths,
  env: NodeJS.ProcessEnv,
): Promise<Served> {
  const config = loadConfig({ env, stored: await readStoredSettings(store) });
  const log = openLog(paths, {
    level: config.get('log.level'),
    bounds: () => ({ maxBytes: config.get('log.maxSize'), keep: config.get('log.keep') }),
  });
  const workRoot = config.get('workspace.root') || paths.workRoot;
  const machine = watchMachine(() => ({
    memoryPercent: config.get('pressure.memory'),
    ioPercent: config.get('pressure.io'),
    leastFreeBytes: config.get('pressure.freeMemory'),
  }));
  const forge = await openForge({
    folders: forgeFolders({ ...paths, workRoot }),
    heavyRuns: () => config.get('workspace.slots'),
    isHeld: () => machine.look().isHeld,
  });
  if (!forge.ok) throw new Fault(forge.refusal.code, forge.refusal.message);
  const barrier = await openBarrier(paths, config, log, options.rules);
  const operatorHome = env.HOME ?? homedir();
  const nodeId = ensureNodeId(paths);
  if (store.dialect === 'sqlite') await store.tx((tx) => adoptNode(tx, nodeId));
  const bridge = bridgeOf(paths);
  const running = await createApp({
    store,
    paths,
    config,
    forge: forge.value,
    machine,
    barrier,
    log,
    version: packageVersion,
    nodeId,
    bridge,
    carried: carryIn({ operatorHome, env, npmrcFile: join(workRoot, 'npmrc') }),
    operatorHome,
    telegramToken: env.CHANTIER_TELEGRAM_TOKEN,
  });
  const access = createAccess({
    store,
    operatorToken: ensureOperatorToken(paths.operatorToken),
    lookUpSession: (tokenHash) => findByTokenHash(store.read, tokenHash),
    sandboxHolds: () => barrier.report.holds,
  });
  await recoverForge(forge.value);
  await running.start();
  const ending = Promise.withResolvers<void>();
  const console = consoleFolder();
  const server = await startServer({
    app: running.app,
    access,
    paths,
    doors: bridge.doors,
    version: packageVersion,
    log,
    port: options.port ?? config.get('port'),
    ...(console === undefined ? {} : { consoleFolder: console }),
    announce: (url) => options.lock.announce(url),
    onShutdown: () => ending.resolve(),
  }).catch(async (error: unknown) => {
    await running.stop();
    throw error;
  });
  const subject = { kind: 'instance', id: 'instance' };
  const facts = { version: packageVersion, sandbox: barrier.report.driver, holds: barrier.report.holds };
  await store.tx((tx) => tx.emit({ kind: 'server.started', actor: systemActor('server'), subject, facts }));
  let stopped: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    await server.stop();
    await running.stop();
    await store.tx((tx) => tx.emit({ kind: 'server.stopped', actor: systemActor('server'), subject }));
    await store.close();
  };
  return { url: server.url, ended: ending.promise, stop: () => (stopped ??= stop()) };
}
