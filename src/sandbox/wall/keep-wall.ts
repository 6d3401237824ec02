import { startWall, type Wall, type WallOptions } from './start-wall.ts';

export interface WallKeeperOptions extends WallOptions {
  /** How often a look is taken. Default 500 ms. */
  intervalMs?: number;
  /** Told when a wall had died and another runs with the same sessions. */
  onRestarted?: (wall: Wall) => void;
  /** Told when it could not be started; it is tried again. */
  onFailed?: (error: unknown) => void;
}

/** The service that keeps one wall alive for an instance; the wall itself goes on when the service stops. */
export interface WallKeeper {
  /** Adopts or starts the wall. Safe twice. */
  start(): Promise<void>;
  /** Stops looking; the wall lives on. Safe twice. */
  stop(): void;
  /**
   * The wall of now; starts one when none lives. Once it was ended by its `stop()`, it stays so: what still asks gets the
   * ended one, which can dismiss and count but admits nobody.
   */
  wall(): Promise<Wall>;
}

/** Makes the keeper of the wall in `options.folder`. */
export function keepWall(options: WallKeeperOptions): WallKeeper {
  let current: Wall | undefined;
  let starting: Promise<Wall> | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isEnded = false;
  const stop = (): void => {
    clearInterval(timer);
    timer = undefined;
  };
  const ensure = (): Promise<Wall> => {
    if (current && (isEnded || current.isAlive())) return Promise.resolve(current);
    starting ??= restart().finally(() => (starting = undefined));
    return starting;
  };
  const restart = async (): Promise<Wall> => {
    const hadOne = current !== undefined;
    const wall = await startWall(options);
    current = {
      ...wall,
      async stop() {
        isEnded = true;
        stop();
        await wall.stop();
      },
    };
    if (hadOne) options.onRestarted?.(current);
    return current;
  };
  return {
    async start() {
      isEnded = false;
      await ensure();
      const look = (): void => {
        // Without sessions nobody misses it; it ends by itself after a while, and is started again when one comes.
        if (current?.hasSessions()) ensure().catch((error) => options.onFailed?.(error));
      };
      timer ??= setInterval(look, options.intervalMs ?? 500);
      timer.unref();
    },
    stop,
    wall: ensure,
  };
}
