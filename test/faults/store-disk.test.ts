import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

import { describe, expect, it, onTestFinished } from 'vitest';

import { openStore, pathsOf, verifyStore } from './store-under-test.ts';

const program = fileURLToPath(new URL('./store-opener.ts', import.meta.url));

interface Answer {
  written: number;
  kept?: number;
  fault?: string;
  message?: string;
}

/** Runs the opener where the mounts in `mounts` hold, in a namespace of its own. */
function openWith(mounts: string[], home: string): Answer {
  const args = ['--dev-bind', '/', '/', ...mounts, '--', process.execPath, program, home];
  return JSON.parse(execFileSync('bwrap', args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })) as Answer;
}

function folder(): string {
  const made = mkdtempSync(join(tmpdir(), 'chantier-disk-'));
  onTestFinished(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

const works = spawnSync('bwrap', ['--dev-bind', '/', '/', '--', 'true']).status === 0;
const title = works ? 'an embedded store' : 'an embedded store (did not run: bubblewrap does not work here)';

describe.skipIf(!works)(title, () => {
  it('says that the disk is full, and has kept exactly what it acknowledged', () => {
    const disk = join(folder(), 'disk');
    mkdirSync(disk);
    const answer = openWith(['--size', String(3 * 1024 * 1024), '--tmpfs', disk], join(disk, 'home'));
    expect(answer).toMatchObject({ fault: 'disk_full' });
    expect(answer.written).toBeGreaterThan(10);
    expect(answer.kept).toBe(answer.written);
    expect(answer.message).toContain('Nothing was changed');
  });

  it('says that a home cannot be made or written, and leaves nothing half done', async () => {
    const disk = folder();
    const home = join(disk, 'home');
    expect(openWith(['--ro-bind', disk, disk], home)).toMatchObject({ fault: 'database_read_only', written: 0 });
    expect(openWith([], home)).toEqual({ written: 2000 });
    expect(openWith(['--ro-bind', disk, disk], home)).toMatchObject({ fault: 'database_read_only', written: 0 });
    const store = await openStore({ home: pathsOf(home) });
    onTestFinished(() => store.close());
    expect(await verifyStore(store)).toMatchObject({ ok: true, count: 2000 });
  });
});
