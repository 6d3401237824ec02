import { randomBytes } from 'node:crypto';

import { linksOutside, quoteForShell, withLauncher } from './launcher.ts';
import type { Sandbox, SandboxProfile } from './profile.ts';

/** The part of `@anthropic-ai/sandbox-runtime` 0.0.83 that we call. */
interface SandboxRuntime {
  SandboxManager: {
    initialize(config: RuntimeConfig): Promise<void>;
    registerCommandNetworkLists(commandId: string, lists: { allowedDomains: string[] }): void;
    wrapWithSandbox(
      command: string,
      shell: string,
      config: Partial<RuntimeConfig>,
      signal: undefined,
      options: { commandId: string },
    ): Promise<string>;
  };
}

interface RuntimeConfig {
  network: { allowedDomains: string[]; deniedDomains: string[]; allowUnixSockets?: string[] };
  filesystem: { denyRead: string[]; allowRead?: string[]; allowWrite: string[]; denyWrite: string[] };
}

/**
 * The macOS driver: Seatbelt profiles made by `@anthropic-ai/sandbox-runtime`, which the operator installs beside
 * Chantier. Its proxy runs inside the server, so agents lose their network while the server is away. Untested: it was never
 * run by us on macOS. `undefined` when the package is missing or this is another system.
 */
export async function createSeatbeltSandbox(): Promise<Sandbox | undefined> {
  if (process.platform !== 'darwin') return undefined;
  const name = '@anthropic-ai/sandbox-runtime';
  const runtime = (await import(name).catch(() => undefined)) as SandboxRuntime | undefined;
  if (!runtime) return undefined;
  const { SandboxManager } = runtime;
  await SandboxManager.initialize({
    network: { allowedDomains: [], deniedDomains: [] },
    filesystem: { denyRead: [], allowWrite: [], denyWrite: [] },
  });
  return {
    driver: 'seatbelt',
    holds: process.getuid?.() !== 0,
    limits: { processes: 'none', memory: 'none' },
    async wrap(profile, command) {
      const line = withLauncher(
        { limits: profile.limits, links: linksOutside(profile), countsProcesses: false },
        command,
      )
        .map(quoteForShell)
        .join(' ');
      // The proxy tells commands apart by this id alone; it must not be guessed.
      const commandId = randomBytes(24).toString('base64url');
      if (profile.network.kind === 'hosts')
        SandboxManager.registerCommandNetworkLists(commandId, { allowedDomains: [...profile.network.hosts] });
      const config = configOf(profile);
      const wrapped = await SandboxManager.wrapWithSandbox(line, '/bin/sh', config, undefined, { commandId });
      return { argv: ['/bin/sh', '-c', wrapped], env: profile.env, cwd: profile.cwd, openFiles: [] };
    },
  };
}

/** Home folders are closed as a whole and opened again for what the profile names; Seatbelt has no allow-list root. */
function configOf(profile: SandboxProfile): RuntimeConfig {
  const writable = [profile.home, ...profile.writable];
  if (profile.workFolderAccess === 'read-write') writable.push(profile.workFolder);
  if (profile.credentialFolder) writable.push(profile.credentialFolder.outside);
  const sockets = profile.socketFolders.map(({ outside }) => `${outside}/sock`);
  return {
    network: { allowedDomains: [], deniedDomains: [], allowUnixSockets: sockets },
    filesystem: {
      denyRead: ['/Users', '/private/var/root'],
      allowRead: [profile.workFolder, ...profile.readOnly, ...writable],
      allowWrite: writable,
      denyWrite: [],
    },
  };
}
