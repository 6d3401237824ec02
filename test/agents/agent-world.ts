import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import type {
  AgentLink,
  AgentProfile,
  AttachOptions,
  DriverEvent,
  LivenessEvent,
  StartArguments,
} from '../../src/sessions/drivers/index.ts';
import { driverFor } from '../../src/sessions/drivers/index.ts';
import { findRunProcesses, openGeneration, startGeneration } from '../../src/sessions/host/index.ts';
import type { Generation } from '../../src/sessions/host/index.ts';
import { mustOk, newId, systemClock } from '../../src/kernel/index.ts';
import type { WrappedCommand } from '../../src/sandbox/index.ts';

/** The Node that runs the tests; the fake agents need 20 or newer. */
const node = process.execPath;

/** The command that starts the fake agent `test/agents/<name>.mjs`, unsandboxed; `start` as its driver would be told. */
export function fakeAgent(
  name: string,
  env: Record<string, string> = {},
  start: Partial<StartArguments> = {},
): WrappedCommand {
  const profile = fakeProfileOf(name);
  const all = { resume: null, mcpServers: [], ownSandboxOff: [], ...start };
  return plainCommand(driverFor(profile).commandFor?.(profile, all) ?? [...profile.command], env);
}

/** The profile of the fake agent `name`: its driver is the word before the first dash, else ACP. */
export function fakeProfileOf(name: string): AgentProfile {
  const command = [node, join(import.meta.dirname, `${name}.mjs`)];
  const driver = /^(?:claude|codex)(?=-)/.exec(name)?.[0] as 'claude' | 'codex' | undefined;
  return fakeProfile(driver ? { name: driver, driver, command } : { command });
}

/** Any command as the driver `none` would give it. */
export function plainCommand(argv: string[], env: Record<string, string> = {}): WrappedCommand {
  return { argv, env: { PATH: '/usr/bin:/bin', LANG: 'C.UTF-8', ...env }, cwd: tmpdir(), openFiles: [] };
}

/** A profile for fake agents; short graces so that stubborn ones do not slow the suite. */
export function fakeProfile(changes: Partial<AgentProfile> = {}): AgentProfile {
  return {
    name: 'fake',
    driver: 'acp',
    command: ['fake'],
    family: 'fake',
    environmentNames: [],
    environment: {},
    mode: 'default',
    stop: { endOfInputGraceMs: 300, termGraceMs: 400, killGraceMs: 1_000 },
    quirks: {},
    ...changes,
  };
}

/** Everything that a link has told, and ways to wait for it. */
export class Witness {
  readonly events: DriverEvent[] = [];
  readonly flags: LivenessEvent[] = [];
  readonly faults: unknown[] = [];
  consumedTo = 0;
  #waiting = new Set<() => void>();

  async apply(batch: { events: DriverEvent[]; consumedTo: number }): Promise<void> {
    this.events.push(...batch.events);
    this.consumedTo = batch.consumedTo;
    for (const look of this.#waiting) look();
  }

  liveness(event: LivenessEvent): void {
    this.flags.push(event);
    for (const look of this.#waiting) look();
  }

  fault(error: unknown): void {
    this.faults.push(error);
  }

  /** The first event of `kind` that fits, now or as soon as it comes. */
  async event<K extends DriverEvent['kind']>(
    kind: K,
    fits: (event: Extract<DriverEvent, { kind: K }>) => boolean = () => true,
  ): Promise<Extract<DriverEvent, { kind: K }>> {
    type Wanted = Extract<DriverEvent, { kind: K }>;
    return this.until(
      () => this.events.find((each): each is Wanted => each.kind === kind && fits(each as Wanted)),
      `event ${kind}`,
    );
  }

  async flag<K extends LivenessEvent['kind']>(kind: K): Promise<Extract<LivenessEvent, { kind: K }>> {
    type Wanted = Extract<LivenessEvent, { kind: K }>;
    return this.until(() => this.flags.find((each): each is Wanted => each.kind === kind), `flag ${kind}`);
  }

  /** The agent's text so far. */
  text(): string {
    return this.events
      .flatMap((each) => (each.kind === 'message' && each.role === 'agent' ? [each.text] : []))
      .join('');
  }

  until<T>(find: () => T | undefined | false, what: string, withinMs = 15_000): Promise<T> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#waiting.delete(look);
        reject(
          new Error(
            `${what} did not come; events: ${JSON.stringify(this.events).slice(0, 2_000)} flags: ${JSON.stringify(this.flags)}`,
          ),
        );
      }, withinMs);
      const look = (): void => {
        const found = find();
        if (found === undefined || found === false) return;
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(found);
      };
      this.#waiting.add(look);
      look();
    });
  }
}

/** A folder for sessions, and everything that was started in it; `close` ends it all and says what had survived. */
export class AgentWorld {
  readonly folder = mkdtempSync(join(tmpdir(), 'chantier-agents-'));
  readonly generations: Generation[] = [];
  readonly links: AgentLink[] = [];

  /** Starts a command as generation 1 of a new session. */
  async start(command: WrappedCommand): Promise<Generation> {
    const spec = { sessionsFolder: this.folder, sessionId: newId<string>(), generation: 1, command };
    const generation = mustOk(await startGeneration(spec));
    this.generations.push(generation);
    return generation;
  }

  /** Takes hold of a generation, as a server does at its start and after a restart. */
  async attach(
    generation: Generation,
    options: Partial<AttachOptions> = {},
    witness = new Witness(),
  ): Promise<{ link: AgentLink; witness: Witness; generation: Generation }> {
    const profile = options.profile ?? fakeProfile();
    const all = { profile, cwd: tmpdir(), mcpServers: [], ...options };
    const link = await driverFor(profile).attach(generation, all, witness);
    this.links.push(link);
    return { link, witness, generation };
  }

  /** Starts a fake agent and waits until its conversation is open. */
  async open(
    name: string,
    options: Partial<AttachOptions> = {},
  ): Promise<{ link: AgentLink; witness: Witness; generation: Generation }> {
    const start = options.resume ? { resume: options.resume.conversationId } : {};
    const profile = fakeProfileOf(name);
    const attached = await this.attach(await this.start(fakeAgent(name, {}, start)), { profile, ...options });
    await attached.witness.event('opened');
    return attached;
  }

  /** Opens the folder of a generation once more, as a new server does. */
  async reopen(generation: Generation): Promise<Generation> {
    const reopened = mustOk(await openGeneration(generation.files.folder, { clock: systemClock }));
    this.generations.push(reopened);
    return reopened;
  }

  async close(): Promise<void> {
    for (const link of this.links) await link.detach().catch(() => undefined);
    for (const generation of this.generations) {
      await generation.close().catch(() => undefined);
      killRun(generation);
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** Ends a run without ceremony. */
function killRun(generation: Generation): void {
  const record = generation.record();
  const roots = record ? [record.wrapper, record.agent, record.feeder] : [];
  for (
    let rows = findRunProcesses(generation.run, roots);
    rows.length > 0;
    rows = findRunProcesses(generation.run, roots)
  )
    for (const { pid } of rows) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // Gone meanwhile, which is what is wanted.
      }
    }
}

/** Pids of the run that still live. */
export function survivorsOf(generation: Generation): number[] {
  return findRunProcesses(generation.run).map((row) => row.pid);
}
