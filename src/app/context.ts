import type { Logger } from 'pino';

import type { Config, InstancePaths } from '../config/index.ts';
import type { Forge } from '../forge/index.ts';
import type { CarriedIn, ProbeReport, Sandbox, WallKeeper, WallRule } from '../sandbox/index.ts';
import type { Broker, SessionContext } from '../sessions/index.ts';
import type { SpendingContext } from '../spending/index.ts';
import type { Store } from '../store/index.ts';
import type { MachineWatch } from './dispatch/watch-machine.ts';
import type { Halt } from './instance/halt.ts';
import type { OwnTools } from './launch/own-tools.ts';
import type { Credentials } from './notify/credentials.ts';

/** What the use cases of `app` work with; made once by `createApp`. */
export interface AppContext {
  readonly store: Store;
  readonly paths: InstancePaths;
  readonly config: Config;
  readonly forge: Forge;
  readonly machine: MachineWatch;
  readonly barrier: Barrier;
  readonly sessions: SessionContext;
  readonly broker: Broker;
  readonly halt: Halt;
  /** Secrets of the channels to the human. */
  readonly credentials: Credentials;
  readonly spending: SpendingContext;
  readonly log: Logger;
  readonly version: string;
  readonly nodeId: string;
  readonly bridge: Bridge;
  /** Toolchains, authorities and the harmless part of `.npmrc` of the operator, shown inside (chapter "What breaks inside"). */
  readonly carried: CarriedIn;
  /** Home of the operator, where the log-ins of agents lie. */
  readonly operatorHome: string;
}

/** The wall as this instance has it. */
export interface Barrier {
  /** Absent when the probe failed and nobody chose `none`: then nothing starts. */
  readonly sandbox: Sandbox | undefined;
  readonly report: ProbeReport;
  /** The way out; absent where the driver has no network of its own. */
  readonly wall: WallKeeper | undefined;
  /** Rules that hold for every agent and set-up step besides what its program needs (package registries the operator named). */
  readonly rules: readonly WallRule[];
}

/** How agents reach the server. */
export interface Bridge {
  /** The sockets that agents use, one for each session. */
  readonly doors: AgentDoors;
  /** Where the folder of a session's door appears inside. */
  readonly insideFolder: string;
  /** Program and arguments of `chantier mcp`, absolute. */
  readonly command: readonly string[];
  /** Program and arguments that keep the terminal of a program, absolute; its files are among `readOnly`. */
  readonly ptyHost: readonly string[];
  /** Files that this program needs inside, absolute. */
  readonly readOnly: readonly string[];
  /** Short private folder for socket folders of sessions; a socket's path is limited to about 100 bytes. */
  readonly runFolder: string;
  /** What this program offers. */
  readonly tools: OwnTools;
}

/**
 * One door for each session (design section 4): its token works there and nowhere else, and what one agent takes of connections
 * and calls is missing to no other.
 */
export interface AgentDoors {
  /**
   * Opens the door of a session that is to be launched; gives the folder with its socket `sock`, for its sandbox alone. Safe twice.
   * `group`: the agent's, where it is another user outside too and nothing is bound into its sandbox (`sandbox: user:<name>`).
   */
  open(sessionId: string, group?: number): Promise<string>;
  /** Closes it for good and removes its folder. Safe twice. */
  close(sessionId: string): Promise<void>;
  /**
   * At start: opens the doors of `sessions` again and removes those of others. A session that has none and was launched
   * (`isLaunched`) uses the one door of older versions, which is served for such sessions alone.
   */
  restore(sessions: readonly { id: string; isLaunched: boolean }[]): Promise<void>;
}
