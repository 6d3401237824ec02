import { join } from 'node:path';

import { pino } from 'pino';

import type { Caller } from '../../src/app/caller.ts';
import type { AppContext } from '../../src/app/context.ts';
import { type MachineWatch, watchMachine } from '../../src/app/dispatch/watch-machine.ts';
import { openHalt } from '../../src/app/instance/halt.ts';
import { loadConfig, pathsOf } from '../../src/config/index.ts';
import { newId } from '../../src/kernel/index.ts';
import type { Store } from '../../src/store/index.ts';
import { type ForgeWorld, openForgeWorld, operator } from '../repositories/index.ts';

/** What the use cases around repositories and landings work with: real store, forge, git and configuration, no supervision. */
export interface AppWorld extends ForgeWorld {
  ctx: AppContext;
  /** A call of the operator with a key of its own. */
  caller(proof?: Caller['proof']): Caller;
}

/** A machine that always has room, whatever else runs beside the tests. */
export const roomyMachine: MachineWatch = watchMachine(
  () => ({ memoryPercent: 100, ioPercent: 100, leastFreeBytes: 0 }),
  '/nonexistent',
);

/** Opens that over a store. `holds`: whether the sandbox counts as one that holds; what runs does so without a wall. */
export async function openAppWorld(store: Store, options: { holds?: boolean } = {}): Promise<AppWorld> {
  const world = await openForgeWorld();
  const sandbox = { ...world.inside.sandbox, holds: options.holds ?? true };
  const ctx = {
    store,
    paths: pathsOf(world.home),
    config: loadConfig({ env: {} }),
    forge: world.forge,
    machine: roomyMachine,
    barrier: { sandbox, report: {}, wall: undefined, rules: [] },
    halt: await openHalt(store),
    log: pino({ level: 'silent' }),
    nodeId: 'node',
    carried: { path: [], readOnly: [], env: {} },
    operatorHome: join(world.folder, 'person'),
    // Nothing here starts sessions or agents.
  } as unknown as AppContext;
  return {
    ...world,
    ctx,
    caller: (proof = 'none') => ({ actor: operator, proof, scope: 'test', idempotencyKey: newId() }),
  };
}
