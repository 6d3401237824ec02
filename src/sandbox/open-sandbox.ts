import { bubblewrapVersion, findSystemProgram, isNewEnough } from './bubblewrap/find-programs.ts';
import { findCgroupControl } from './bubblewrap/cgroup.ts';
import { createBubblewrapSandbox } from './bubblewrap/driver.ts';
import { chooseOwner } from './bubblewrap/owner.ts';
import { createNoneSandbox } from './none-driver.ts';
import { probeSandbox } from './probe/probe-sandbox.ts';
import type { Diagnosis } from './probe/diagnose.ts';
import type { ProbeEffect, ProbeReport } from './probe/report.ts';
import type { Sandbox } from './profile.ts';
import { createSeatbeltSandbox } from './seatbelt-driver.ts';
import { filterArchitecture } from './seccomp/build-filter.ts';
import { createUserSandbox, findAccount } from './user-driver.ts';

/** The setting `sandbox` (design section 4). `auto` takes the platform's driver; it never falls back to a weaker one. */
export type SandboxMode = 'auto' | 'bubblewrap' | 'seatbelt' | 'none' | `user:${string}`;

export interface OpenSandboxOptions {
  mode: SandboxMode;
  /** The uid and gid that a root server's sandboxes run as. Default: 64500, or the next uid that no account has. */
  ownerUid?: number;
  /** Paths that no sandbox may show (CHANTIER_HOME, the runtime folder); the probe looks for them. */
  hidden?: readonly string[];
}

export interface OpenedSandbox {
  /** Absent when the probe failed: then nothing may run until the cure is done or a human chose `none` with proof. */
  sandbox?: Sandbox;
  report: ProbeReport;
}

/** Opens the barrier of this machine and proves it by running the real profile. Takes 30 to 100 ms. */
export async function openSandbox(options: OpenSandboxOptions): Promise<OpenedSandbox> {
  const { mode } = options;
  if (mode === 'none') return openNone();
  if (mode.startsWith('user:')) return openUser(mode.slice('user:'.length), options);
  const platform = process.platform === 'darwin' ? 'seatbelt' : 'bubblewrap';
  const driver = mode === 'auto' ? platform : mode;
  return driver === 'seatbelt' ? openSeatbelt(options) : openBubblewrap(options);
}

function openNone(): OpenedSandbox {
  const cause = 'The setting is sandbox: none. Agents run as the server does and can reach all that it can.';
  return { sandbox: createNoneSandbox(), report: { driver: 'none', holds: false, effects: [], cause } };
}

async function openBubblewrap(options: OpenSandboxOptions): Promise<OpenedSandbox> {
  if (process.platform !== 'linux')
    return failed('bubblewrap', { cause: `bubblewrap is for Linux; this is ${process.platform}.` });
  const bwrap = findSystemProgram('bwrap');
  if (!bwrap)
    return failed('bubblewrap', {
      cause: 'bubblewrap is not installed.',
      cure: 'Install it with socat: apt install bubblewrap socat (dnf, pacman, zypper: the same names).',
    });
  const version = await bubblewrapVersion(bwrap).catch(() => undefined);
  if (version === undefined || !isNewEnough(version))
    return failed('bubblewrap', {
      cause: `bubblewrap is ${version ?? 'of an unknown version'}; 0.8.0 is the first that can forbid new user namespaces.`,
      cure: 'Install bubblewrap 0.8.0 or later.',
    });
  if (!filterArchitecture())
    return failed('bubblewrap', { cause: `There is no seccomp filter for ${process.arch}, only for x64 and arm64.` });
  const isRoot = process.getuid?.() === 0;
  const setpriv = findSystemProgram('setpriv');
  if (isRoot && !setpriv)
    return failed('bubblewrap', { cause: 'A root server needs setpriv.', cure: 'Install util-linux.' });
  const uid = options.ownerUid;
  const owner = uid === undefined ? chooseOwner() : { uid, gid: uid };
  if (isRoot && owner.uid === 0)
    return failed('bubblewrap', {
      cause: 'The user of the sandboxes may not be root.',
      cure: 'Choose another sandbox.uid.',
    });
  const sandbox = createBubblewrapSandbox({
    bwrap,
    cgroup: await findCgroupControl(),
    ...(setpriv ? { setpriv } : {}),
    ...(isRoot ? { owner } : {}),
  });
  const socatNote = findSystemProgram('socat')
    ? []
    : ['socat is not installed: the forwarder of each session takes about 40 MB instead of 3.'];
  return probed(sandbox, options, { version, notes: socatNote });
}

async function openSeatbelt(options: OpenSandboxOptions): Promise<OpenedSandbox> {
  const sandbox = await createSeatbeltSandbox();
  if (!sandbox)
    return failed('seatbelt', {
      cause: 'The package @anthropic-ai/sandbox-runtime is not installed.',
      cure: 'Install it beside Chantier: npm install -g @anthropic-ai/sandbox-runtime@0.0.83 (untested on macOS).',
    });
  return probed(sandbox, options, {
    demanded: ['hidden', 'writable', 'not-root', 'reached-end'],
    notes: ['The macOS driver was never run by us on macOS.'],
  });
}

async function openUser(name: string, options: OpenSandboxOptions): Promise<OpenedSandbox> {
  const setpriv = findSystemProgram('setpriv');
  if (process.getuid?.() !== 0 || !setpriv)
    return failed('user', { cause: `sandbox: user:${name} needs a root server and setpriv, to become that user.` });
  const owner = findAccount(name);
  if (!owner || owner.uid === 0)
    return failed('user', {
      cause: `There is no account "${name}" other than root.`,
      cure: `useradd --system ${name}`,
    });
  return probed(createUserSandbox(setpriv, owner), options, {
    demanded: ['unreadable', 'writable', 'no-capabilities', 'not-root', 'reached-end'],
    notes: ['Another user is the whole barrier: the network is open, and sessions can read one another.'],
  });
}

interface Expectations {
  demanded?: readonly ProbeEffect[];
  version?: string;
  notes: readonly string[];
}

async function probed(sandbox: Sandbox, options: OpenSandboxOptions, expected: Expectations): Promise<OpenedSandbox> {
  const found = await probeSandbox(sandbox, {
    ...(options.hidden ? { hidden: options.hidden } : {}),
    ...(expected.demanded ? { demanded: expected.demanded } : {}),
  });
  const report = {
    ...found,
    ...(expected.version === undefined ? {} : { version: expected.version }),
    notes: [...(found.notes ?? []), ...expected.notes],
  };
  return report.holds ? { sandbox, report } : { report };
}

function failed(driver: ProbeReport['driver'], diagnosis: Diagnosis): OpenedSandbox {
  return { report: { driver, holds: false, effects: [], ...diagnosis } };
}
