import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect, onTestFinished, test, vi } from 'vitest';

import { openWorld, deliver } from '../../../test/app/world.ts';
import { mustOk } from '../../kernel/index.ts';
import { watchMachine } from './watch-machine.ts';

const mib = 1024 ** 2;

function setup() {
  const proc = mkdtempSync(join(tmpdir(), 'chproc-'));
  onTestFinished(() => rmSync(proc, { recursive: true }));
  mkdirSync(join(proc, 'pressure'));
  const tell = (memory: number, io: number, freeMib: number): void => {
    const stall = (full: number): string =>
      `some avg10=99.00 avg60=0.00 avg300=0.00 total=1\nfull avg10=${full.toFixed(2)} avg60=0.00 avg300=0.00 total=1\n`;
    writeFileSync(join(proc, 'pressure', 'memory'), stall(memory));
    writeFileSync(join(proc, 'pressure', 'io'), stall(io));
    writeFileSync(join(proc, 'meminfo'), `MemTotal: 1 kB\nMemAvailable:   ${freeMib * 1024} kB\n`);
  };
  tell(0, 0, 2_000);
  const limits = { memoryPercent: 10, ioPercent: 60, leastFreeBytes: 512 * mib };
  return { proc, tell, limits, machine: watchMachine(() => limits, proc) };
}

test('pressure holds with its reason, and goes on only at half of the limit (design 6)', () => {
  const { tell, machine } = setup();
  expect(machine.look()).toMatchObject({ isHeld: false, reason: undefined, memoryPercent: 0, freeBytes: 2_000 * mib });
  tell(10, 0, 2_000);
  expect(machine.look()).toMatchObject({ isHeld: true, reason: 'memory pressure 10 % (limit 10 %)' });
  tell(6, 0, 2_000);
  expect(machine.look()).toMatchObject({ isHeld: true, goesOn: 'memory pressure is below 5 %' });
  tell(4.9, 0, 2_000);
  expect(machine.look().isHeld).toBe(false);
  tell(0, 61, 400);
  expect(machine.look().reason).toBe('I/O pressure 61 % (limit 60 %) and 400MiB of memory left (least 512MiB)');
  tell(0, 0, 700);
  expect(machine.look()).toMatchObject({ isHeld: true, goesOn: '768MiB of memory are free' });
  tell(0, 0, 800);
  expect(machine.look().isHeld).toBe(false);
});

test('a limit of 100 never holds; without PSI the memory that is left decides', () => {
  const { proc, tell, limits } = setup();
  tell(100, 100, 2_000);
  expect(watchMachine(() => ({ ...limits, memoryPercent: 100, ioPercent: 100 }), proc).look().isHeld).toBe(false);
  rmSync(join(proc, 'pressure'), { recursive: true });
  expect(watchMachine(() => limits, proc).look()).toMatchObject({ isHeld: false, memoryPercent: undefined });
});

test(
  'under pressure nothing is dispatched, status says why, and it goes on by itself',
  { timeout: 30_000 },
  async () => {
    const { tell, machine } = setup();
    tell(50, 0, 2_000);
    const look = vi.spyOn(machine, 'look');
    const world = await openWorld({ machine });
    const run = await world.run(world.checkout(), 'Greet', { author: [deliver('greeting.txt', 'hello you\n')] });
    await world.pass(6_000);
    await world.until('a look at the machine', async () => look.mock.calls.length > 0);
    expect(await world.sessions(run)).toEqual([]);
    const status = mustOk(await world.app.sessions.status(world.caller()));
    expect(status.machine).toMatchObject({ isHeld: true, reason: 'memory pressure 50 % (limit 10 %)' });
    tell(0, 0, 2_000);
    await world.pass(6_000);
    await world.session(run, 'author', () => true);
  },
);
