import { createNoneSandbox } from './none-driver.ts';
import type { ProbeReport } from './probe-report.ts';
import type { Sandbox } from './profile.ts';

/** The setting `sandbox` (design section 4). `auto` takes the platform's driver and refuses to go on when its probe fails. */
export type SandboxMode = 'auto' | 'bubblewrap' | 'seatbelt' | 'none' | `user:${string}`;

export interface OpenSandboxOptions {
  mode: SandboxMode;
  /** The uid and gid that a root server's sandboxes run as. Default: 64500, or the next uid that nobody has. */
  ownerUid?: number;
}

export interface OpenedSandbox {
  /** Absent when the probe failed: then nothing may run until the cure is done or a human chose `none` with proof. */
  sandbox?: Sandbox;
  report: ProbeReport;
}

/** Opens the barrier of this machine and proves it by running the real profile. Never falls back to a weaker one. */
export async function openSandbox(options: OpenSandboxOptions): Promise<OpenedSandbox> {
  if (options.mode === 'none') return { sandbox: createNoneSandbox(), report: noneReport };
  throw new Error(`sandbox driver ${options.mode} is not there yet`);
}

const noneReport: ProbeReport = {
  driver: 'none',
  holds: false,
  effects: [],
  cause: 'A human chose to run without a sandbox.',
};
