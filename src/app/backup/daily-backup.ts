import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';

import { ok, type Result, systemActor, toRfc3339 } from '../../kernel/index.ts';
import { type Reconciler, startReconciler } from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { requireSpace } from '../instance/disk.ts';
import { writeBackup } from './write-backup.ts';

const everyMs = 3_600_000;
const dayMs = 24 * everyMs;
const prefix = 'daily-';

/** The hourly look whether the daily backup is due (`backup.daily`). */
export function startDailyBackup(ctx: AppContext): Reconciler {
  return startReconciler(ctx.store, {
    name: 'daily-backup',
    list: async () => ['backup'],
    pass: async () => {
      const done = await backUpDaily(ctx);
      if (!done.ok) ctx.log.error({ code: done.refusal.code }, 'the daily backup was not written');
      return { kind: 'look-again', ms: everyMs };
    },
    everyMs,
    onError: (error) => ctx.log.error({ err: error }, 'daily backup'),
  });
}

/**
 * Writes a backup into the home's folder of backups when the newest one of its own is a day old, and then removes its own beyond the
 * newest `backup.daily`; those that somebody asked for stay. Refuses what `writeBackup` refuses, and a disk that is short.
 */
export async function backUpDaily(ctx: AppContext): Promise<Result<undefined>> {
  const kept = ctx.config.get('backup.daily');
  if (kept === 0) return ok();
  const stamp = (at: number): string => `${prefix}${toRfc3339(at).replaceAll(/[:.]/g, '-')}`;
  const now = ctx.store.clock.now();
  const own = await listOwn(ctx);
  const newest = own.at(-1);
  // One that lies in the future was written before the clock was set back.
  if (newest !== undefined && newest > stamp(now - dayMs) && newest <= stamp(now)) return ok();
  const room = await requireSpace(ctx);
  if (!room.ok) return room;
  const written = await writeBackup(ctx, systemActor('daily-backup'), join(ctx.paths.backups, stamp(now)));
  if (!written.ok) return written;
  for (const name of (await listOwn(ctx)).slice(0, -kept))
    await rm(join(ctx.paths.backups, name), { recursive: true, force: true });
  return ok();
}

/** Oldest first. */
async function listOwn(ctx: AppContext): Promise<string[]> {
  const names = await readdir(ctx.paths.backups).catch(() => []);
  return names.filter((name) => name.startsWith(prefix)).toSorted();
}
