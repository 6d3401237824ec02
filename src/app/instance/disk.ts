import { execFile } from 'node:child_process';
import { stat, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';
import { join } from 'node:path';

import { ok, refuse, type Result } from '../../kernel/index.ts';
import type { StatusView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';

const run = promisify(execFile);

/** How old a measurement of what lies where may be (ms), and how long one may take. */
const sizesMaxAgeMs = 60_000;
const measureLimitMs = 10_000;

/** Where the space of an instance goes, and what may be done about it; never the database, nor anything that work needs. */
const places: { what: string; cure: string; pathOf: (ctx: AppContext) => string }[] = [
  {
    what: 'journals of agents',
    cure: 'lower `retention.journals`: those of finished work are removed after it',
    pathOf: (ctx) => ctx.paths.sessions,
  },
  { what: 'backups', cure: 'remove the oldest files', pathOf: (ctx) => ctx.paths.backups },
  { what: 'logs', cure: 'lower `log.keep` or `log.maxSize`', pathOf: (ctx) => ctx.paths.logs },
  {
    what: 'repositories with their rescue refs',
    cure: 'delete refs below refs/chantier/rescue that nobody wants back, then `git gc` in that repository',
    pathOf: (ctx) => ctx.paths.forge,
  },
  {
    what: 'work folders and caches of set-ups',
    cure: 'finish or stop open work; a folder named `cache` may be removed while nothing is set up',
    pathOf: (ctx) => workRootOf(ctx),
  },
];

/** Free space where it is shortest, in bytes, of the file systems that hold the instance and its work folders. */
export async function readFreeSpace(ctx: AppContext): Promise<{ path: string; freeBytes: number }> {
  const spaces = await Promise.all(
    [ctx.paths.home, workRootOf(ctx)].map(async (path) => {
      const found = await statfs(path).catch(() => undefined);
      return found ? { path, freeBytes: found.bavail * found.bsize } : undefined;
    }),
  );
  const [first = { path: ctx.paths.home, freeBytes: 0 }, ...others] = spaces.filter((space) => space !== undefined);
  return others.reduce((least, each) => (each.freeBytes < least.freeBytes ? each : least), first);
}

/** Refuses to start a session while less than `disk.minFree` is left; what runs goes on, and so does dispatch afterwards. */
export async function requireSpace(ctx: AppContext): Promise<Result<undefined>> {
  const minFree = ctx.config.get('disk.minFree');
  if (minFree === 0) return ok();
  const { path, freeBytes } = await readFreeSpace(ctx);
  if (freeBytes >= minFree) return ok();
  return refuse(
    'wrong-state',
    'disk_short',
    `Only ${inGiB(freeBytes)} are free at ${path}, less than disk.minFree (${inGiB(minFree)}): nothing is started until there is room; what waits then starts by itself. \`chantier status\` says what may be removed.`,
    { free_bytes: freeBytes, min_bytes: minFree },
  );
}

/** What every surface says about the disk; what may be removed is measured only when room is short. */
export async function readDisk(ctx: AppContext): Promise<StatusView['disk']> {
  const { path, freeBytes } = await readFreeSpace(ctx);
  const minFreeBytes = ctx.config.get('disk.minFree');
  const isShort = freeBytes < minFreeBytes;
  return { path, freeBytes, minFreeBytes, isShort, places: isShort ? await measurePlaces(ctx) : [] };
}

let measured: { home: string; at: number; places: StatusView['disk']['places'] } | undefined;

async function measurePlaces(ctx: AppContext): Promise<StatusView['disk']['places']> {
  const now = performance.now();
  if (measured?.home === ctx.paths.home && now - measured.at < sizesMaxAgeMs) return measured.places;
  const found = [];
  for (const { what, cure, pathOf } of places) {
    const path = pathOf(ctx);
    if (!(await stat(path).catch(() => undefined))) continue;
    found.push({ what, cure, path, bytes: await sizeOf(path) });
  }
  const sorted = found.toSorted((a, b) => (b.bytes ?? 0) - (a.bytes ?? 0));
  measured = { home: ctx.paths.home, at: now, places: sorted };
  return sorted;
}

/** Bytes on the disk below `path`; `null` when it took too long. */
async function sizeOf(path: string): Promise<number | null> {
  const options = { timeout: measureLimitMs, env: {}, cwd: '/' };
  const { stdout } = await run('/usr/bin/du', ['-sk', '--', path], options).catch((error: unknown) => ({
    // Files that vanish meanwhile make it exit 1 with the sum all the same.
    stdout: String((error as { stdout?: string }).stdout ?? ''),
  }));
  const kilobytes = Number.parseInt(stdout, 10);
  return Number.isFinite(kilobytes) ? kilobytes * 1024 : null;
}

function workRootOf(ctx: AppContext): string {
  return ctx.config.get('workspace.root') || join(ctx.paths.workRoot);
}

function inGiB(bytes: number): string {
  return `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}
