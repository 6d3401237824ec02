import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

import type { Logger } from 'pino';

import type { Barrier } from './app/index.ts';
import { type Config, ensureRunFolder, type InstancePaths } from './config/index.ts';
import { wallProgram } from './package-files.ts';
import { keepWall, openSandbox, type SandboxMode, type WallRule } from './sandbox/index.ts';

/** Opens and proves the sandbox, and the wall around its network; `rules` hold besides what the settings name. */
export async function openBarrier(
  paths: InstancePaths,
  config: Config,
  log: Logger,
  rules: readonly WallRule[] = [],
): Promise<Barrier> {
  const runFolder = ensureRunFolder(paths.home);
  const opened = await openSandbox({ mode: config.get('sandbox') as SandboxMode, hidden: [paths.home, runFolder] });
  const { sandbox, report } = opened;
  if (!report.holds)
    log.warn({ driver: report.driver, cause: report.cause, cure: report.cure }, 'the sandbox does not hold');
  const program = wallProgram();
  const wall =
    sandbox?.driver === 'bubblewrap'
      ? keepWall({
          folder: join(runFolder, 'wall'),
          ...(program ? { program } : {}),
          onRestarted: ({ pid }) => log.warn({ pid }, 'the wall had died and runs again'),
          onFailed: (error) => log.error({ err: error }, 'the wall does not start'),
        })
      : undefined;
  return { sandbox, report, wall, rules: wall ? [...rules, ...(await namedHosts(config))] : [] };
}

/** Hosts that the operator named: the setting, and the package registry of the operator's own npm. */
async function namedHosts(config: Config): Promise<WallRule[]> {
  const named = config.get('sandbox.allowedHosts').split(',').filter(Boolean);
  const registry = await npmRegistry();
  return [...named.map((host): WallRule => ({ host })), ...(registry ? [registry] : [])];
}

/** Where the operator's npm installs from; nothing when there is no npm or it names no https address. */
async function npmRegistry(): Promise<WallRule | undefined> {
  try {
    const { stdout } = await promisify(execFile)('npm', ['config', 'get', 'registry'], { cwd: '/', timeout: 10_000 });
    const { hostname, port, protocol } = new URL(stdout.trim());
    if (protocol !== 'https:' && protocol !== 'http:') return undefined;
    const standard = protocol === 'https:' ? 443 : 80;
    return { host: hostname, ports: [port === '' ? standard : Number(port)], allowPrivate: true };
  } catch {
    return undefined; // no npm here: nothing of it is needed
  }
}
