import { execFile } from 'node:child_process';

import { findNotify } from './service-unit.ts';

/**
 * Tells systemd, where it started us, that the server is ready and from then on that it is well: as often as a third of the
 * watchdog's time, and only while `isWell` says so. A server that hangs says nothing and is started again (field case 11).
 * Answers the function that ends it.
 */
export function notifyService(env: NodeJS.ProcessEnv, isWell: () => Promise<boolean>): () => void {
  const socket = env.NOTIFY_SOCKET;
  const program = findNotify();
  if (!socket || !program) return () => {};
  const say = (word: string): void => {
    execFile(program, [word], { env: { NOTIFY_SOCKET: socket }, timeout: 10_000 }, () => {});
  };
  say('READY=1');
  const watchdogMs = Number(env.WATCHDOG_USEC) / 1000;
  if (!Number.isFinite(watchdogMs) || watchdogMs <= 0) return () => {};
  const timer = setInterval(() => {
    isWell().then(
      (well) => well && say('WATCHDOG=1'),
      () => {},
    );
  }, watchdogMs / 3);
  return () => clearInterval(timer);
}
