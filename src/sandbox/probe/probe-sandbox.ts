import { spawn } from 'node:child_process';
import { mkdtempSync, readlinkSync, realpathSync } from 'node:fs';
import { mkdir, rm, writeFile, chmod } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { newShortId } from '../../kernel/index.ts';
import { giveToOwner } from '../bubblewrap/owner.ts';
import { buildEnvironment } from '../environment.ts';
import type { Sandbox, SandboxProfile } from '../profile.ts';
import { runInSandbox } from '../run-in-sandbox.ts';
import { diagnose } from './diagnose.ts';
import { probeScript } from './probe-script.ts';
import { type ProbeEffect, probeEffects, type ProbeReport } from './report.ts';

export interface ProbeOptions {
  /** Paths that no sandbox may show, beside a secret of the probe's own: CHANTIER_HOME, the runtime folder, log-ins. */
  hidden?: readonly string[];
  /** Default: all twelve. A driver without namespaces demands fewer. */
  demanded?: readonly ProbeEffect[];
}

const probeTimeoutMs = 15_000;

/**
 * Runs the real profile against a live process outside, a hidden secret and a write folder, and demands the twelve effects
 * . Never throws for a sandbox that does not hold: the report says why and what cures it.
 */
export async function probeSandbox(sandbox: Sandbox, options: ProbeOptions = {}): Promise<ProbeReport> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'chantier-probe-')));
  const name = `chantier-outside-${newShortId<string>()}`;
  const outside = spawn('/bin/sleep', ['60'], { argv0: name, stdio: 'ignore' });
  try {
    const profile = await prepareWorld(sandbox, base);
    const args = [profile.workFolder, join(base, 'readonly'), String(outside.pid), name, ...namespacesOutside()];
    const secrets = [join(base, 'secret'), ...(options.hidden ?? [])];
    const command = ['/bin/sh', '-c', probeScript, 'probe', ...args, ...secrets];
    const stateFolder = join(base, 'state');
    const run = await runInSandbox(sandbox, profile, command, { timeoutMs: probeTimeoutMs, stateFolder });
    return judge(sandbox, run.outputTail, run.durationMs, options.demanded ?? probeEffects);
  } catch (error) {
    return judge(sandbox, String(error), undefined, options.demanded ?? probeEffects);
  } finally {
    outside.kill('SIGKILL');
    await rm(base, { recursive: true, force: true });
  }
}

async function prepareWorld(sandbox: Sandbox, base: string): Promise<SandboxProfile> {
  const folders = Object.fromEntries(['work', 'home', 'readonly', 'state'].map((name) => [name, join(base, name)]));
  for (const folder of Object.values(folders)) await mkdir(folder, { mode: 0o700 });
  await writeFile(join(base, 'secret'), 'hidden', { mode: 0o600 });
  await writeFile(join(base, 'work/outside'), 'seen');
  await writeFile(join(base, 'readonly/file'), 'seen');
  await giveToOwner(sandbox.owner, [folders.work!, folders.home!, folders.readonly!]);
  await chmod(base, 0o711); // a driver without mounts must still come to its work folder
  return {
    kind: 'check',
    workFolder: folders.work!,
    workFolderAccess: 'read-write',
    home: folders.home!,
    readOnly: [folders.readonly!],
    writable: [],
    socketFolders: [],
    env: buildEnvironment({ home: folders.home! }),
    cwd: folders.work!,
    network: { kind: 'none' },
    limits: {},
  };
}

function namespacesOutside(): string[] {
  return ['pid', 'net'].map((kind) => {
    try {
      return readlinkSync(`/proc/self/ns/${kind}`);
    } catch {
      return 'none';
    }
  });
}

function judge(
  sandbox: Sandbox,
  output: string,
  durationMs: number | undefined,
  demanded: readonly ProbeEffect[],
): ProbeReport {
  const said = new Set(output.split('\n'));
  const effects = demanded.map((effect) => ({ effect, seen: said.has(`${effect} yes`) }));
  const missing = effects.filter(({ seen }) => !seen).map(({ effect }) => effect);
  const holds = missing.length === 0 && sandbox.holds;
  return {
    driver: sandbox.driver,
    holds,
    effects,
    ...(holds ? {} : diagnose(output, missing)),
    ...(durationMs === undefined ? {} : { durationMs: Math.round(durationMs) }),
    notes: notesOn(sandbox),
  };
}

function notesOn(sandbox: Sandbox): string[] {
  const notes: string[] = [];
  if (sandbox.limits.memory === 'none')
    notes.push('There is no memory limit for agents: this machine has no cgroup that the server may use.');
  if (sandbox.limits.processes === 'user') notes.push('All sessions share one limit on processes.');
  if (sandbox.limits.processes === 'none') notes.push('There is no limit on processes.');
  return notes;
}
