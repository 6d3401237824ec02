import { readFileSync } from 'node:fs';
import { freemem } from 'node:os';

import { formatSize } from '../../config/index.ts';

/** From where on nothing new starts. Percent of the last ten seconds in which all work waited; 100 = never. */
export interface PressureLimits {
  memoryPercent: number;
  ioPercent: number;
  leastFreeBytes: number;
}

/** What the machine's state means for new work. */
export interface MachineState {
  /** True = nothing new is dispatched. */
  isHeld: boolean;
  /** Which of the limits is passed, with both numbers. */
  reason: string | undefined;
  /** When it goes on. */
  goesOn: string | undefined;
  /** `undefined` where this system does not tell (PSI is Linux). */
  memoryPercent: number | undefined;
  ioPercent: number | undefined;
  freeBytes: number;
}

/** Looks at memory and I/O of this machine. Cheap enough to be asked at each pass. */
export interface MachineWatch {
  look(): MachineState;
}

/**
 * Memory and I/O pressure stop dispatch (design section 6): by `/proc/pressure` where the kernel keeps it, and always by the
 * memory that is left. It goes on at half of a limit (half as much memory again), so that it does not flutter.
 */
export function watchMachine(limits: () => PressureLimits, procFolder = '/proc'): MachineWatch {
  let wasHeld = false;
  return {
    look() {
      const { memoryPercent, ioPercent, leastFreeBytes } = limits();
      const now = {
        memoryPercent: readStall(`${procFolder}/pressure/memory`),
        ioPercent: readStall(`${procFolder}/pressure/io`),
        freeBytes: readAvailable(`${procFolder}/meminfo`),
      };
      const part = wasHeld ? 0.5 : 1;
      const least = leastFreeBytes * (wasHeld ? 1.5 : 1);
      const reasons: [string, string][] = [];
      const judge = (what: string, found: number | undefined, limit: number): void => {
        if (found !== undefined && limit < 100 && found >= limit * part)
          reasons.push([`${what} pressure ${found} % (limit ${limit} %)`, `${what} pressure is below ${limit / 2} %`]);
      };
      judge('memory', now.memoryPercent, memoryPercent);
      judge('I/O', now.ioPercent, ioPercent);
      if (now.freeBytes < least) {
        const enough = `${formatSize(toMiB(leastFreeBytes * 1.5))} of memory are free`;
        reasons.push([
          `${formatSize(toMiB(now.freeBytes))} of memory left (least ${formatSize(leastFreeBytes)})`,
          enough,
        ]);
      }
      wasHeld = reasons.length > 0;
      const said = (at: 0 | 1): string | undefined => reasons.map((one) => one[at]).join(' and ') || undefined;
      return { isHeld: wasHeld, reason: said(0), goesOn: said(1), ...now };
    },
  };
}

/** Share of the last ten seconds in which every task waited. */
function readStall(file: string): number | undefined {
  const found = /^full avg10=(\d+(?:\.\d+)?)/m.exec(read(file))?.[1];
  return found === undefined ? undefined : Number(found);
}

function readAvailable(file: string): number {
  const kib = /^MemAvailable:\s+(\d+) kB/m.exec(read(file))?.[1];
  return kib === undefined ? freemem() : Number(kib) * 1024;
}

function read(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return ''; // another system, or a kernel without PSI
  }
}

function toMiB(bytes: number): number {
  return Math.floor(bytes / 1024 ** 2) * 1024 ** 2;
}
