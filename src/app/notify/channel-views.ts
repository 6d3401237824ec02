import { toRfc3339 } from '../../kernel/index.ts';
import type { ChannelView } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { momentOf } from '../work/views.ts';
import { readingTarget, targetOf } from './channel.ts';
import { listOwners } from './owners.ts';

/** How each receiver that is set up does, for `status`, `doctor` and `notify`. */
export async function readChannels(ctx: AppContext): Promise<ChannelView[]> {
  const targets: string[] = [];
  if (ctx.credentials.webhook()) targets.push('webhook');
  if (ctx.credentials.telegramToken()) {
    targets.push(readingTarget);
    for (const owner of await listOwners(ctx.store.read)) targets.push(targetOf(owner.telegramId));
  }
  if (targets.length === 0) return [];
  const rows = await ctx.store.read.selectFrom('notify_target').selectAll().where('target', 'in', targets).execute();
  return targets.map((target) => {
    const row = rows.find((one) => one.target === target);
    const failures = Number(row?.failures ?? 0);
    const state = failures > 0 ? 'failing' : row?.last_ok_at ? 'ok' : 'new';
    const tries = failures === 1 ? 'once' : `${failures} times in a row`;
    const message =
      state === 'failing'
        ? `Failed ${tries}: ${row?.last_error ?? 'unknown'}`
        : state === 'ok'
          ? `Reached last at ${toRfc3339(row?.last_ok_at ?? 0)}.`
          : 'Set up; nothing was sent yet.';
    return {
      target,
      state,
      message,
      failures,
      lastReachedAt: momentOf(row?.last_ok_at ?? null),
      retryAt: momentOf(row?.retry_at ?? null),
    };
  });
}
