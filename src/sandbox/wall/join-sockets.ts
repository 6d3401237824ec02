import type { Duplex } from 'node:stream';

/** Carries bytes both ways until both sides have ended; an error on one side ends the other at once. */
export function joinSockets(a: Duplex, b: Duplex): void {
  const drop = (): void => {
    a.destroy();
    b.destroy();
  };
  a.on('error', drop);
  b.on('error', drop);
  a.on('close', () => b.destroy());
  b.on('close', () => a.destroy());
  a.pipe(b);
  b.pipe(a);
}
