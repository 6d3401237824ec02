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
  /** The wall of now; starts one when none lives. */
  wall(): Promise<Wall>;
}

/** Makes the keeper of the wall in `options.folder`. */
export function keepWall(options: WallKeeperOptions): WallKeeper {
  let current: Wall | undefined;
  let starting: Promise<Wall> | undefined;
  let timer: NodeJS.Timeout | undefined;
  const ensure = (): Promise<Wall> => {
    if (current?.isAlive()) return Promise.resolve(current);
    starting ??= restart().finally(() => (starting = undefined));
    return starting;
  };
  const restart = async (): Promise<Wall> => {
    const hadOne = current !== undefined;
    current = await startWall(options);
    if (hadOne) options.onRestarted?.(current);
    return current;
  };
  return {
    async start() {
      await ensure();
      timer ??= setInterval(() => void ensure().catch((error) => options.onFailed?.(error)), options.intervalMs ?? 500);
      timer.unref();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
    wall: ensure,
  };
}
