import { ok, type Result } from '../../kernel/index.ts';
import { settingNames } from '../../config/index.ts';
import { registerAgent } from '../../ledger/index.ts';
import { eventsTopic, readEventBounds, verifyStore } from '../../store/index.ts';
import type { InitView } from '../../wire/index.ts';
import { requireProof } from '../access/index.ts';
import type { InstanceUseCases } from '../app.ts';
import { writeBackup } from '../backup/write-backup.ts';
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
    backup: (caller, request) => writeBackup(ctx, caller.actor, request.path),
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
    ...(agents.length === 0 ? ['No agent yet: `chantier agent add`.'] : []),
    ...(sandbox.holds ? [] : [sandbox.message]),
    ...(request.sandbox !== undefined && request.sandbox !== 'auto'
      ? ['The sandbox setting holds from the next start on.']
      : []),
  ];
  return ok({ phase: ctx.config.get('gate.phase'), sandbox, agents: agents.map((agent) => agent.codename), next });
}
