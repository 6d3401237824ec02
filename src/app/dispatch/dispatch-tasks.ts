import { ok, refuse, type Result, systemActor } from '../../kernel/index.ts';
import { repositoryById } from '../../forge/index.ts';
import { claimTask, readyTasks, workKey } from '../../ledger/index.ts';
import { sessionsTopic, startSession } from '../../sessions/index.ts';
import { budgetsTopic } from '../../spending/index.ts';
import {
  type Reconciler,
  done,
  lookAgainIn,
  type PassOutcome,
  startReconciler,
  type Schema,
} from '../../store/index.ts';
import type { AppContext } from '../context.ts';
import { settingsTopic } from '../instance/change-setting.ts';
import { requireSpace } from '../instance/disk.ts';
import { haltTopic } from '../instance/halt.ts';
import { trustOrAsk } from '../repositories/register-repository.ts';
import { askIfUsedUp, reserveFirstTurn } from '../spending/reserve-first-turn.ts';
import { requireSandbox } from '../workspace/inside.ts';
import { chooseAuthor } from './choose-author.ts';
import { whereToGoOn } from './where-to-go-on.ts';
import { useAccount } from './use-account.ts';

const actor = systemActor('dispatcher');

/** The loop that starts ready tasks while there are slots (design section 9). */
export function startDispatcher(ctx: AppContext): Reconciler {
  return startReconciler(ctx.store, {
    name: 'dispatcher',
    list: async () => ['instance'],
    pass: () => dispatchReadyTasks(ctx),
    everyMs: 5_000,
    wakeAllOn: ['tasks', sessionsTopic, haltTopic, settingsTopic, 'decisions', 'agents', 'access', budgetsTopic],
    onError: (error) => ctx.log.error({ err: error }, 'the dispatcher could not look'),
  });
}

/** Why nothing may start on this instance now; `undefined` when it may. */
export async function whyNothingStarts(ctx: AppContext): Promise<Result<undefined>> {
  const allowed = await whyNoWorkIsTaken(ctx);
  return allowed.ok ? requireSpace(ctx) : allowed;
}

/**
 * Why new work starts later although it is taken: a short disk, or the pressure of this machine; `null` when it does not wait.
 * Neither refuses a request: what somebody wants is recorded, and dispatch goes on by itself once there is room (design 6).
 */
export async function whyDispatchWaits(ctx: AppContext): Promise<string | null> {
  const space = await requireSpace(ctx);
  if (!space.ok) return space.refusal.message;
  const { isHeld, reason = '', goesOn = '' } = ctx.machine.look();
  return isHeld ? `Nothing new starts: ${reason}. It goes on when ${goesOn}.` : null;
}

/** Why nobody may ask for work here at all, which only a human can change; a machine without room is none of it. */
export async function whyNoWorkIsTaken(ctx: AppContext): Promise<Result<undefined>> {
  if (ctx.halt.isOn())
    return refuse('wrong-state', 'halted', 'Everything was stopped. `chantier stop --go-on` lets it go on.');
  if (ctx.config.get('gate.phase') < 2) {
    return refuse(
      'not-permitted',
      'phase_read_only',
      'The instance is in phase 1 (read-only): set `gate.phase` to 2 or more, with proof, before agents can work.',
      {
        setting: 'gate.phase',
      },
    );
  }
  const operator = await ctx.store.read
    .selectFrom('user_account')
    .select('id')
    .where('role', '=', 'operator')
    .where('disabled_at', 'is', null)
    .limit(1)
    .executeTakeFirst();
  if (!operator) return refuse('not-permitted', 'no_operator', 'Nobody could decide yet: run `chantier init` first.');
  const sandbox = requireSandbox(ctx);
  return sandbox.ok ? ok() : sandbox;
}

async function dispatchReadyTasks(ctx: AppContext): Promise<PassOutcome> {
  if (!(await whyNothingStarts(ctx)).ok) return done;
  const skipped: string[] = [];
  for (;;) {
    const tasks = await readyTasks(ctx.store.read, { limit: 20, except: skipped });
    if (tasks.length === 0) return skipped.length > 0 ? lookAgainIn(5_000) : done;
    for (const task of tasks) {
      if (ctx.store.clock.now() < task.updated_at + retryAfterMs(task.attempts)) {
        skipped.push(task.id);
        continue;
      }
      if (ctx.machine.look().isHeld) return lookAgainIn(2_000);
      const started = await dispatchTask(ctx, task);
      if (started.ok) continue;
      if (started.refusal.kind === 'quota' && started.refusal.code !== 'account_limited') return done;
      skipped.push(task.id);
      ctx.log.info({ task: task.id, code: started.refusal.code }, 'a ready task does not start');
    }
  }
}

/** How long a task rests after a failed attempt, so that a broken agent is not started in a storm: 10 s, 20 s, … */
export function retryAfterMs(attempts: number): number {
  return attempts === 0 ? 0 : Math.min(300_000, 10_000 * 2 ** (attempts - 1));
}

/** Claims a task and creates its session in one transaction; the supervisor launches it. */
export async function dispatchTask(ctx: AppContext, task: Schema['task']): Promise<Result<{ sessionId: string }>> {
  const trusted = await requireTrust(ctx, task);
  if (!trusted.ok) return trusted;
  const begun = await ctx.store.tx(async (tx): Promise<Result<{ sessionId: string }>> => {
    const going = await ctx.halt.guard(tx);
    if (!going.ok) return going;
    const agent = await chooseAuthor(tx.db, task, tx.now);
    if (!agent)
      return refuse(
        'not-found',
        'no_author',
        `No agent may author ${task.codename}: add one with \`chantier agent add\`.`,
        { task: task.id },
      );
    const project = await tx.db
      .selectFrom('project')
      .select('codename')
      .where('id', '=', task.project_id)
      .executeTakeFirstOrThrow();
    const claim = await claimTask(tx, { taskId: task.id, holder: ctx.nodeId, actor });
    if (!claim.ok) return claim;
    const started = await startSession(
      tx,
      ctx.sessions,
      { actor, scope: 'dispatcher' },
      {
        workKey: workKey(project, task),
        projectCode: project.codename,
        key: `dispatch:${task.id}:${claim.value.fence}`,
        agent: agent.codename,
        role: 'author',
        projectId: task.project_id,
        taskId: task.id,
        taskFence: claim.value.fence,
        ...(await whereToGoOn(tx, task.id, agent.codename)),
      },
    );
    if (!started.ok) return started;
    const sessionId = started.value.value.session_id;
    const usable = await useAccount(tx, agent.codename, sessionId);
    if (!usable.ok) return usable;
    const reserved = await reserveFirstTurn(tx, ctx, sessionId, task.request ?? `${task.title}\n${task.description}`);
    return reserved.ok ? ok({ sessionId }) : reserved;
  });
  if (!begun.ok) await askIfUsedUp(ctx, begun.refusal, { projectId: task.project_id, taskId: task.id });
  return begun;
}

async function requireTrust(ctx: AppContext, task: Schema['task']): Promise<Result<undefined>> {
  if (!task.repository_id) return ok();
  const repository = await repositoryById(ctx.store.read, task.repository_id);
  if (!repository) return refuse('not-found', 'repository_not_found', `There is no repository ${task.repository_id}.`);
  if (repository.isTrusted) return ok();
  const settled = await trustOrAsk(ctx, actor, repository);
  if (!settled.ok) return settled;
  if (settled.value.repository.isTrusted) return ok();
  return refuse(
    'proof-required',
    'not_trusted',
    `The commands of ${repository.name} wait for trust: decision ${settled.value.decisionId}.`,
    {
      decision: settled.value.decisionId ?? null,
    },
  );
}
