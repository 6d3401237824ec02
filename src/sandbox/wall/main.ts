import { appendFileSync, renameSync, writeFileSync } from 'node:fs';

import { identityOf } from './identity.ts';
import { serveWall } from './serve-wall.ts';
import { wallPaths } from './wall-paths.ts';

/**
 * The wall as a process of its own: `node main.ts <folder>`. Started detached by `startWall`; it says `ready` on stdout
 * once it listens, and outlives the server.
 */
function main(): void {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('usage: wall <folder>');
  process.umask(0o077);
  process.title = 'chantier-wall';
  const paths = wallPaths(folder);
  const complain = (text: string): void => {
    try {
      appendFileSync(paths.log, `${new Date().toISOString()} ${text}\n`, { mode: 0o600 });
    } catch {
      // nobody is left to be told
    }
  };
  // One connection's bug must not cut the network of all sessions.
  process.on('uncaughtException', (error) => complain(`bug: ${error.stack ?? error.message}`));
  process.on('unhandledRejection', (reason) => complain(`bug: ${String(reason)}`));
  const wall = serveWall(paths, () => end(), complain);
  const end = (): void => {
    try {
      wall.stop();
    } finally {
      process.exit(0);
    }
  };
  process.on('SIGTERM', end);
  process.on('SIGINT', () => {}); // Ctrl-C in the server's terminal is not meant for the wall
  process.on('SIGHUP', () => {});
  writeFileSync(`${paths.identity}.new`, JSON.stringify(identityOf(process.pid)), { mode: 0o600 });
  renameSync(`${paths.identity}.new`, paths.identity);
  process.stdout.on('error', () => {});
  process.stdout.write('ready\n');
}

main();
