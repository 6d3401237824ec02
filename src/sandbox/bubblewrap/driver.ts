import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { Fault } from '../../kernel/index.ts';
import { runMarkerName } from '../end-processes.ts';
import { systemPath } from '../environment.ts';
import { withLauncher } from '../launcher.ts';
import { buildFilter, filterArchitecture } from '../seccomp/build-filter.ts';
import { forwarderPlan } from '../wall/forwarder.ts';
import { type CgroupControl, joinCgroup } from './cgroup.ts';
import { buildArguments, type Protection } from './build-arguments.ts';
import { becomeOwner, type Owner, writeAccounts } from './owner.ts';
import type { Sandbox, SandboxProfile, WrappedCommand } from '../profile.ts';

/** What the driver needs to know of the machine; found by `openSandbox`. */
export interface BubblewrapFacts {
  bwrap: string;
  /** Needed by a root server only. */
  setpriv?: string;
  /** The user inside, for a root server; absent: the server's own user. */
  owner?: Owner;
  cgroup: CgroupControl;
  /** Tests only: parts of the barrier left out, to see an attack succeed. */
  without?: ReadonlySet<Protection>;
}

/** Descriptors below 10: a plain /bin/sh can open no other. */
const descriptors = { arguments: 9, seccomp: 8 };

/** The Linux driver. */
export function createBubblewrapSandbox(facts: BubblewrapFacts): Sandbox {
  return {
    driver: 'bubblewrap',
    holds: true,
    ...(facts.owner ? { owner: facts.owner } : {}),
    limits: {
      processes: !facts.owner || facts.cgroup.kind !== 'none' ? 'session' : 'user',
      memory: facts.cgroup.kind === 'none' ? 'none' : 'cgroup',
    },
    wrap: (profile, command, stateFolder) => wrapWithBubblewrap(facts, profile, command, stateFolder),
  };
}

async function wrapWithBubblewrap(
  facts: BubblewrapFacts,
  profile: SandboxProfile,
  command: readonly string[],
  stateFolder: string,
): Promise<WrappedCommand> {
  const architecture = filterArchitecture();
  if (!architecture) throw new Fault('no_seccomp_filter', `There is no seccomp filter for ${process.arch}.`);
  demandProgram(command);
  const without = facts.without ?? new Set<Protection>();
  const user = facts.owner ?? { uid: process.getuid!(), gid: process.getgid!() };
  const forwarder = forwarderPlan(profile);
  const seen = {
    ...profile,
    readOnly: [...profile.readOnly, ...forwarder.readOnly],
    env: { ...forwarder.env, ...profile.env },
  };
  const overlays = await writeAccounts(stateFolder, user, profile.home);
  const asRoot = facts.owner !== undefined;
  const args = buildArguments(seen, { asRoot, seccompFd: descriptors.seccomp, overlays, without });
  const argumentsFile = join(stateFolder, 'bwrap.args');
  const filterFile = join(stateFolder, 'bwrap.seccomp');
  const nested = profile.nested === undefined ? {} : { nested: profile.nested };
  await writeFile(argumentsFile, args.map((arg) => `${arg}\0`).join(''), { mode: 0o600 });
  await writeFile(filterFile, buildFilter({ architecture, ...nested }), { mode: 0o600 });

  // Without a user namespace of its own, the process limit of a user counts all sessions of that user together.
  const group = await joinCgroup(facts.cgroup, profile.limits, asRoot);
  const become = facts.owner && !without.has('not-root') ? becomeOwner(facts.setpriv!, facts.owner) : [];
  const launched = without.has('closed-descriptors')
    ? [...command]
    : withLauncher(
        {
          limits: profile.limits,
          before: forwarder.start,
          ...(profile.links ? { links: profile.links } : {}),
          countsProcesses: !without.has('process-limit') && !(asRoot && group.length > 0),
          ...(asRoot ? { cwd: profile.cwd } : {}),
        },
        command,
      );
  const marker = profile.env[runMarkerName];
  return {
    argv: [...group, facts.bwrap, '--args', String(descriptors.arguments), '--', ...become, ...launched],
    env: {
      PATH: systemPath.join(':'),
      ...(marker === undefined ? {} : { [runMarkerName]: marker }),
      ...facts.cgroup.env,
    },
    cwd: '/',
    openFiles: [
      { fd: descriptors.arguments, path: argumentsFile },
      ...(without.has('seccomp') ? [] : [{ fd: descriptors.seccomp, path: filterFile }]),
    ],
  };
}

function demandProgram(command: readonly string[]): void {
  const [program] = command;
  if (!program?.startsWith('/'))
    throw new Fault(
      'program_not_absolute',
      `"${program ?? ''}" is not an absolute path; commands are resolved when registered.`,
    );
  // What exists only inside (a link under /bin of an unmerged system, a mounted folder) shows itself when it is started.
  if (program.startsWith('/usr/') && !existsSync(program))
    throw new Fault('program_missing', `${program} does not exist; install it or register the agent again.`);
}
