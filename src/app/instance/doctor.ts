import { toRfc3339 } from '../../kernel/index.ts';
import { verifyStore } from '../../store/index.ts';
import { listAgents } from '../../ledger/index.ts';
import { canPunchHoles, findOwnScope } from '../../sessions/index.ts';
import type { DoctorReport } from '../../wire/index.ts';
import type { AppContext } from '../context.ts';
import { whyNothingStarts } from '../dispatch/dispatch-tasks.ts';
import { readFreeSpace } from './disk.ts';
import { describeAgentFacts, readAgentFacts } from '../launch/agent-facts.ts';
import { readChannels } from '../notify/channel-views.ts';
import { findInvariantFaults } from './invariants.ts';

type Check = DoctorReport['checks'][number];

/** Less free space than this is said. */
const lowSpaceBytes = 2 * 1024 ** 3;

/** Looks at everything the instance depends on; `deep` reads the whole store too and checks its invariants (design section 10). */
export async function examine(ctx: AppContext, options: { deep: boolean }): Promise<DoctorReport> {
  const checks = [
    gitCheck(ctx),
    ...sandboxChecks(ctx),
    await spaceCheck(ctx),
    await journalCheck(ctx),
    await scopeCheck(),
    await startCheck(ctx),
    await agentCheck(ctx),
    ...(await eachAgent(ctx)),
    ...(await channelChecks(ctx)),
    await backupCheck(ctx),
    ...(options.deep ? await deepChecks(ctx) : []),
  ];
  return { ok: checks.every((check) => check.status !== 'fail'), checks };
}

function gitCheck(ctx: AppContext): Check {
  return { name: 'git', status: 'ok', message: `${ctx.forge.git.path} ${ctx.forge.git.version}`, cure: null };
}

function sandboxChecks(ctx: AppContext): Check[] {
  const { report } = ctx.barrier;
  const missing = report.effects.filter((effect) => !effect.seen).map((effect) => effect.effect);
  const what = report.holds
    ? `holds (${report.driver} ${report.version ?? ''})`.trim()
    : `does not hold: ${report.cause ?? missing.join(', ')}`;
  const main: Check = {
    name: 'sandbox',
    status: report.holds ? 'ok' : 'fail',
    message: what,
    cure: report.cure ?? null,
  };
  return [
    main,
    ...(report.notes ?? []).map((note): Check => ({ name: 'sandbox', status: 'warn', message: note, cure: null })),
  ];
}

async function spaceCheck(ctx: AppContext): Promise<Check> {
  const { path, freeBytes } = await readFreeSpace(ctx);
  const isLow = freeBytes < Math.max(lowSpaceBytes, ctx.config.get('disk.minFree'));
  return {
    name: 'disk',
    status: isLow ? 'warn' : 'ok',
    message: `${(freeBytes / 1024 ** 3).toFixed(1)} GiB free at ${path}`,
    cure: isLow ? 'Free some space: below `disk.minFree` nothing is started, and a full disk stops everything.' : null,
  };
}

async function journalCheck(ctx: AppContext): Promise<Check> {
  const canFree = await canPunchHoles(ctx.paths.home);
  return {
    name: 'journals',
    status: 'ok',
    message: canFree
      ? 'old parts of long journals are freed (sessions.journalKeep)'
      : 'old parts of long journals cannot be freed here: no fallocate (util-linux), or a file system without holes',
    cure: null,
  };
}

async function scopeCheck(): Promise<Check> {
  const scope = await findOwnScope();
  return {
    name: 'scopes',
    status: 'ok',
    message: scope
      ? 'each agent has a systemd scope of its own'
      : 'agents get no systemd scope of their own here; a log-out ends them where it ends everything of its user',
    cure: null,
  };
}

async function startCheck(ctx: AppContext): Promise<Check> {
  const allowed = await whyNothingStarts(ctx);
  if (allowed.ok) return { name: 'dispatch', status: 'ok', message: 'agents may start', cure: null };
  return {
    name: 'dispatch',
    status: 'warn',
    message: allowed.refusal.message,
    cure: 'See `chantier init` and `chantier config`.',
  };
}

async function agentCheck(ctx: AppContext): Promise<Check> {
  const agents = await listAgents(ctx.store.read, { activeOnly: true });
  const authors = agents.filter((agent) => agent.roles.includes('author'));
  const families = new Set(agents.filter((agent) => agent.roles.includes('reviewer')).map((agent) => agent.family));
  if (authors.length === 0)
    return { name: 'agents', status: 'warn', message: 'no agent may author', cure: 'Add one: `chantier agent add`.' };
  const opposite = authors.every((author) => [...families].some((family) => family !== author.family));
  const message = `${authors.length} may author, reviewers of ${families.size === 0 ? 'no family' : [...families].join(', ')}`;
  if (opposite) return { name: 'agents', status: 'ok', message, cure: null };
  return {
    name: 'agents',
    status: 'warn',
    message,
    cure: 'Add a reviewer of another model family, so that changes are not reviewed by their own kind.',
  };
}

/** Each agent: binary, version, family, who is logged in and who pays (design section 7). */
async function eachAgent(ctx: AppContext): Promise<Check[]> {
  const agents = await ctx.store.read
    .selectFrom('agent')
    .selectAll()
    .where('active', '=', 1)
    .orderBy('codename')
    .execute();
  return agents.map((agent) => {
    const facts = readAgentFacts(agent, ctx.operatorHome, process.env);
    const status = facts.cure === null ? 'ok' : 'warn';
    return { name: `agent ${agent.codename}`, status, message: describeAgentFacts(agent, facts), cure: facts.cure };
  });
}

/** Each way to the human that is set up. */
async function channelChecks(ctx: AppContext): Promise<Check[]> {
  const channels = await readChannels(ctx);
  return channels.map(({ target, state, message }) => ({
    name: `notify ${target}`,
    status: state === 'failing' ? 'warn' : 'ok',
    message,
    cure: state === 'failing' ? 'See `chantier notify`, then `chantier notify test`.' : null,
  }));
}

/** When the last backup was written, wherever to; whether it is still there nobody knows. */
async function backupCheck(ctx: AppContext): Promise<Check> {
  const last = await ctx.store.read
    .selectFrom('event')
    .select('at')
    .where('kind', '=', 'instance.backed-up')
    .orderBy('ord', 'desc')
    .limit(1)
    .executeTakeFirst();
  const cure = 'Write one now and then, onto another disk: `chantier backup`.';
  if (!last) return { name: 'backup', status: 'ok', message: 'none was written yet', cure };
  const days = Math.floor((ctx.store.clock.now() - last.at) / 86_400_000);
  const age = days < 1 ? 'less than a day ago' : days === 1 ? 'a day ago' : `${days} days ago`;
  return {
    name: 'backup',
    status: 'ok',
    message: `the last one was written ${age} (${toRfc3339(last.at)})`,
    cure: days > 7 ? cure : null,
  };
}

async function deepChecks(ctx: AppContext): Promise<Check[]> {
  const chain = await verifyStore(ctx.store);
  const audit: Check = chain.ok
    ? { name: 'audit', status: 'ok', message: `${chain.count} events, chain whole`, cure: null }
    : {
        name: 'audit',
        status: 'fail',
        message: chain.message,
        cure: 'Compare with an export or a backup; nothing may be trusted after this event.',
      };
  const faults = await findInvariantFaults(ctx);
  const invariants: Check[] = faults.map((message) => ({
    name: 'invariants',
    status: 'fail',
    message,
    cure: 'Report this with the output of `chantier events`.',
  }));
  if (faults.length === 0)
    invariants.push({
      name: 'invariants',
      status: 'ok',
      message: 'every state has a next event or a human',
      cure: null,
    });
  return [audit, ...invariants];
}
