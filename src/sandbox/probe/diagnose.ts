import { readFileSync } from 'node:fs';

import { forLog } from '../../kernel/index.ts';
import type { ProbeEffect } from './report.ts';

/** Why a sandbox does not hold, and what somebody does about it; both for a human. */
export interface Diagnosis {
  cause: string;
  cure?: string;
}

/** What the machine says about itself; handed in so that each way to fail can be tried. */
export interface MachineFacts {
  isRoot: boolean;
  /** The content of a file such as a kernel setting, trimmed; empty when there is none. */
  read(path: string): string;
}

const thisMachine: MachineFacts = { isRoot: process.getuid?.() === 0, read: readTrimmed };

/** Kernel settings that forbid user namespaces, with what opens them again. */
const settings = [
  {
    path: '/proc/sys/user/max_user_namespaces',
    closed: '0',
    cause: 'This machine allows no user namespaces (user.max_user_namespaces = 0).',
    cure: 'An administrator runs: echo user.max_user_namespaces=15000 > /etc/sysctl.d/60-chantier.conf && sysctl --system',
  },
  {
    path: '/proc/sys/kernel/unprivileged_userns_clone',
    closed: '0',
    cause: 'Only root may make user namespaces here (kernel.unprivileged_userns_clone = 0).',
    cure: 'An administrator runs: echo kernel.unprivileged_userns_clone=1 > /etc/sysctl.d/60-chantier.conf && sysctl --system',
  },
  {
    path: '/proc/sys/kernel/apparmor_restrict_unprivileged_userns',
    closed: '1',
    cause: 'AppArmor keeps bubblewrap from making user namespaces (Ubuntu 24.04 and later).',
    cure: "An administrator adds a profile once: printf 'abi <abi/4.0>,\\ninclude <tunables/global>\\nprofile bwrap /usr/bin/bwrap flags=(unconfined) {\\n  userns,\\n}\\n' > /etc/apparmor.d/bwrap && apparmor_parser -r /etc/apparmor.d/bwrap",
  },
] as const;

/** Says why the probe's run, whose output is `output`, did not show the effects in `missing`. */
export function diagnose(
  output: string,
  missing: readonly ProbeEffect[],
  machine: MachineFacts = thisMachine,
): Diagnosis {
  if (!missing.includes('reached-end'))
    return { cause: `The sandbox started, but these effects were not seen: ${missing.join(', ')}.` };
  if (/mount proc.*(not permitted|denied)/i.test(output))
    return {
      cause: 'This container hides parts of /proc, so that no new one can be mounted.',
      cure: 'Start the container with --security-opt systempaths=unconfined, or run Chantier outside the container.',
    };
  if (/operation not permitted|no permissions to create|namespace|uid map/i.test(output))
    return diagnoseRights(machine, output);
  return { cause: `The probe did not come to its end: ${firstLine(output) || 'it printed nothing'}.` };
}

function diagnoseRights(machine: MachineFacts, output: string): Diagnosis {
  const closed = machine.isRoot ? undefined : settings.find(({ path, closed: value }) => machine.read(path) === value);
  if (closed) return { cause: closed.cause, cure: closed.cure };
  if (machine.isRoot || machine.read('/proc/1/cgroup').includes('docker') || machine.read('/.dockerenv') !== '')
    return {
      cause: `This container may not make namespaces (it lacks the capability CAP_SYS_ADMIN, or its filter denies them): ${firstLine(output)}.`,
      cure: 'Start the container with --cap-add SYS_ADMIN --security-opt seccomp=unconfined --security-opt apparmor=unconfined, or run Chantier outside the container, or as root with the setting sandbox: user:<name>.',
    };
  return { cause: `The system refused to make the namespaces: ${firstLine(output)}.` };
}

function firstLine(output: string): string {
  const lines = output.split('\n').filter((line) => line.trim() !== '' && !/ (yes|no)$/.test(line));
  return forLog(lines[0] ?? '').replace(/\.$/, '');
}

function readTrimmed(path: string): string {
  try {
    return readFileSync(path, 'utf8').trim();
  } catch {
    return '';
  }
}
