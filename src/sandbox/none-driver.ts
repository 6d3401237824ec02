import { linksOutside, withLauncher } from './launcher.ts';
import type { Sandbox, SandboxProfile, WrappedCommand } from './profile.ts';

/**
 * No barrier at all: a built environment, closed descriptors, umask 077 and nothing more. Chosen by a human with proof
 * only (design section 4), or for the demo's own scripts; `holds` is false and every surface says so.
 */
export function createNoneSandbox(): Sandbox {
  return {
    driver: 'none',
    holds: false,
    limits: { processes: 'none', memory: 'none' },
    wrap: (profile, command) => Promise.resolve(wrapWithout(profile, command)),
  };
}

function wrapWithout(profile: SandboxProfile, command: readonly string[]): WrappedCommand {
  // A process limit would count everything that this user runs anywhere, so there is none without a barrier.
  const argv = withLauncher({ limits: profile.limits, links: linksOutside(profile), countsProcesses: false }, command);
  return { argv, env: profile.env, cwd: profile.cwd, openFiles: [] };
}
