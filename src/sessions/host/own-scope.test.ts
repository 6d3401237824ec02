import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, beforeEach, expect, test } from 'vitest';

import { AgentWorld, plainCommand } from '../../../test/agents/agent-world.ts';
import { mustOk, newId } from '../../kernel/index.ts';
import type { Generation } from './generation.ts';
import { type OwnScope, tryScope } from './own-scope.ts';
import { startGeneration } from './start-generation.ts';

let world: AgentWorld;
let folder: string;
beforeEach(() => {
  world = new AgentWorld();
  folder = mkdtempSync(join(tmpdir(), 'chantier-scope-'));
});
afterEach(async () => {
  await world.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A `systemd-run` that notes its arguments and becomes the command, as the real one does with `--scope`. */
function fakeSystemdRun(fails: 'never' | 'later' = 'never'): string {
  const path = join(folder, 'systemd-run');
  const later = fails === 'later' ? `[ -e "${folder}/calls" ] && exit 1` : '';
  const script = `#!/bin/sh\n${later}\necho "$XDG_RUNTIME_DIR $*" >>"${folder}/calls"\nwhile [ "$1" != -- ]; do shift; done\nshift\nexec "$@"\n`;
  writeFileSync(path, script);
  chmodSync(path, 0o755);
  return path;
}

async function start(scope: OwnScope): Promise<Generation> {
  const command = plainCommand(['/bin/sh', '-c', 'env; exec sleep 60']);
  const spec = { sessionsFolder: world.folder, sessionId: newId<string>(), generation: 1, command, scope };
  const generation = mustOk(await startGeneration(spec));
  world.generations.push(generation);
  const done = Promise.withResolvers<void>();
  const unwatch = generation.watch(() => {
    if (generation.look().phase === 'running' && generation.journalSize() > 0) done.resolve();
  });
  await done.promise;
  unwatch();
  return generation;
}

const serverEnv = { XDG_RUNTIME_DIR: '/run/user/7', DBUS_SESSION_BUS_ADDRESS: 'unix:path=/run/user/7/bus', TOKEN: 'x' };

test('a log-out or a restart of the server’s unit does not end an agent: it runs in a scope of its own (field case 64)', async () => {
  const scope = await tryScope(fakeSystemdRun(), serverEnv, false);
  const generation = await start(scope!);
  const [probe, call] = readFileSync(join(folder, 'calls'), 'utf8').trim().split('\n');
  expect(probe).toBe('/run/user/7 --user --scope --quiet --collect -- /bin/true');
  expect(call).toContain(`--unit=chantier-${generation.run.replaceAll('/', '-')} -- /usr/bin/env -u XDG_RUNTIME_DIR`);
  expect(generation.record()!.wrapper.pid).toBeGreaterThan(1);
  const said = readFileSync(generation.files.journal, 'utf8');
  expect(said).toContain('CHANTIER_RUN=');
  expect(said).not.toMatch(/XDG_RUNTIME_DIR|DBUS_SESSION|TOKEN/);
});

test('a systemd that went away between two starts fails no start', async () => {
  const scope = await tryScope(fakeSystemdRun('later'), serverEnv, false);
  const generation = await start(scope!);
  expect(generation.look().phase).toBe('running');
});

test('a systemd that makes no scope is not used', async () => {
  expect(await tryScope('/bin/false', serverEnv, false)).toBeUndefined();
  expect(await tryScope(undefined, serverEnv, true)).toBeUndefined();
});
