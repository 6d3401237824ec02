import { cp, mkdir, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';

import { Fault, ok, refuse, type Result, toRfc3339 } from '../../kernel/index.ts';
import { settingNames } from '../../config/index.ts';
import { registerAgent } from '../../ledger/index.ts';
import { backUpDatabase, eventsTopic, readEventBounds, verifyStore } from '../../store/index.ts';
import type { InitView } from '../../wire/index.ts';
import { requireProof } from '../access/index.ts';
import type { InstanceUseCases } from '../app.ts';
import type { Caller } from '../caller.ts';
import type { AppContext } from '../context.ts';
import { resolveProgram } from '../work/agents.ts';
import { changeSetting, settingView, storeSetting, takeUpSettings } from './change-setting.ts';
import { examine } from './doctor.ts';
import { exportAudit } from './export-audit.ts';
import { readEventPage } from './event-view.ts';
import { readMetrics } from './metrics.ts';
import { readRecap } from './recap.ts';
import { sandboxView } from './status.ts';

/** The instance itself: first settings, doctor, events, audit, backup, the end (design sections 4, 5, 8). */
export function instanceUseCases(ctx: AppContext, down: InstanceUseCases['prepareDown']): InstanceUseCases {
  return {
    init: (caller, request) => setUp(ctx, caller, request),
    sandbox: () => sandboxView(ctx.barrier),
    listSettings: async () => ok(settingNames().map((name) => settingView(ctx, name))),
    changeSetting: (caller, name, value) => changeSetting(ctx, caller, name, value),
    doctor: async (_caller, options) => ok(await examine(ctx, options)),
    events: (_caller, query) => readEventPage(ctx.store, query),
    async eventBounds() {
      const { first, head } = await readEventBounds(ctx.store);
      return { oldest: first, head };
    },
    onEvents: (listener) => ctx.store.onWake(eventsTopic, listener),
    async verifyAudit() {
      const report = await verifyStore(ctx.store);
      const { head, hash } = await readEventBounds(ctx.store);
      if (report.ok) return ok({ ok: true, checked: report.count, head: report.head, firstFault: null });
      const { seq, id, message, fault } = report;
      return ok({
        ok: false,
        checked: seq,
        head: { seq: head, hash },
        firstFault: { seq, id: id ?? null, fault, message },
      });
    },
    exportAudit: (_caller, query) => exportAudit(ctx, query),
    backup: (_caller, request) => backUp(ctx, request.path),
    recap: (_caller, since) => readRecap(ctx, since),
    prepareDown: down,
    async checkReady() {
      await ctx.store.read.selectFrom('migration').select('name').limit(1).executeTakeFirst();
    },
    metrics: () => readMetrics(ctx),
  };
}

/** Settings and agents of the first run in one transaction; the proof was asked at the edge (design section 4 "First run"). */
async function setUp(
  ctx: AppContext,
  caller: Caller,
  request: Parameters<InstanceUseCases['init']>[1],
): Promise<Result<InitView>> {
  const proof = requireProof(caller, 'lower-safety-setting');
  if (!proof.ok) return proof;
  const wanted: [string, string | number][] = [];
  if (request.phase !== undefined) wanted.push(['gate.phase', request.phase]);
  if (request.maxActive !== undefined) wanted.push(['sessions.maxActive', request.maxActive]);
  if (request.sandbox !== undefined) wanted.push(['sandbox', request.sandbox]);
  const judged = wanted.map(([name, value]) => ctx.config.judgeChange(name, value));
  const bad = judged.find((result) => !result.ok);
  if (bad && !bad.ok) return bad;
  const programs = await Promise.all(
    (request.agents ?? []).map((agent) => resolveProgram(agent.command[0] ?? '', ctx.carried.path)),
  );
  const missing = programs.find((program) => !program.ok);
  if (missing && !missing.ok) return missing;
  const stored = await ctx.store.tx(async (tx) => {
    for (const result of judged) if (result.ok) await storeSetting(tx, caller, result.value.name, result.value.value);
    for (const [index, agent] of (request.agents ?? []).entries()) {
      const program = programs[index];
      const command = [program?.ok ? program.value : '', ...agent.command.slice(1)];
      const { codename, driver, family, roles, tty = false, envNames = [] } = agent;
      const added = await registerAgent(
        tx,
        { codename, driver, family, roles, command, tty, envNames },
        { actor: caller.actor, source: 'operator' },
      );
      if (!added.ok) return added;
    }
    return ok();
  });
  if (!stored.ok) return stored;
  await takeUpSettings(ctx);
  const agents = await ctx.store.read
    .selectFrom('agent')
    .select('codename')
    .where('active', '=', 1)
    .orderBy('codename')
    .execute();
  const sandbox = sandboxView(ctx.barrier);
  const next = [
    ...(agents.length === 0 ? ['Add an agent: `chantier agent add`.'] : []),
    ...(sandbox.holds ? [] : [sandbox.message]),
    ...(request.sandbox !== undefined && request.sandbox !== 'auto'
      ? ['The sandbox setting holds from the next start on.']
      : []),
  ];
  return ok({ phase: ctx.config.get('gate.phase'), sandbox, agents: agents.map((agent) => agent.codename), next });
}

/** Database, forge repositories and keys into one folder; a manifest names what is there. PostgreSQL has its own tools for the first. */
async function backUp(
  ctx: AppContext,
  path: string | undefined,
): Promise<Result<{ path: string; files: number; bytes: number }>> {
  const stamp = toRfc3339(ctx.store.clock.now()).replaceAll(/[:.]/g, '-');
  const target = path ?? join(ctx.paths.backups, stamp);
  const isTaken = await stat(target).then(
    () => true,
    () => false,
  );
  if (isTaken)
    return refuse('duplicate', 'backup_exists', `${target} exists already; name another place.`, { path: target });
  if (ctx.store.dialect !== 'sqlite') {
    return refuse(
      'wrong-state',
      'backup_by_database',
      'The store is PostgreSQL: back it up with pg_dump, and the home folder with your own tools.',
    );
  }
  await mkdir(target, { recursive: true, mode: 0o700 });
  await backUpDatabase(ctx.paths.database, join(target, 'chantier.db'));
  for (const folder of ['forge', 'keys'] as const) {
    await cp(ctx.paths[folder], join(target, folder), { recursive: true }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT')
        throw new Fault('backup_failed', `Backup of ${folder} failed: ${error.message}`, { cause: error });
    });
  }
  return ok({ path: target, ...(await sizeOf(target)) });
}

async function sizeOf(folder: string): Promise<{ files: number; bytes: number }> {
  const entries = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const sizes = await Promise.all(entries.map((entry) => stat(join(entry.parentPath, entry.name))));
  return { files: entries.length, bytes: sizes.reduce((sum, { size }) => sum + size, 0) };
}
