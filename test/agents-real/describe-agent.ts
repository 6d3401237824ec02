import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { afterAll, beforeAll, describe, expect, onTestFailed, onTestFinished, test } from 'vitest';

import { ensureRunFolder } from '../../src/config/index.ts';
import { adoptWall, findByRunMarker } from '../../src/sandbox/index.ts';
import { git } from '../repositories/index.ts';
import type { RealAgent } from './agents.ts';
import { agentProcess, runOf, untilGone } from './agent-processes.ts';
import { installAgent } from './install-agent.ts';
import type { ModelStep } from './model-script.ts';
import { openWorld, type Run, type SessionFacts, type User, type World } from './world.ts';

/** All that is shown of an agent takes long; the short form is for each run of the continuous integration. */
export const isFull = process.env.CHANTIER_TEST_FULL === '1';

const ordinary: User = { uid: 65_534, gid: 65_534 };
const isRoot = process.getuid?.() === 0;

/**
 * What is shown of each real agent behind the wall, with a root server and as an ordinary user: one whole piece of work,
 * and what must hold when something is refused, limited, paused, stopped or dies. In the short form all of it for one user
 * only, and the piece of work for the other; for an agent that is shown by another driver already (`isSecond`) one user will do.
 */
export function describeAgent(name: string, agent: RealAgent, isSecond = false): void {
  const users: [string, User | undefined, boolean][] = isRoot
    ? [
        ['with a root server', undefined, true],
        ...(isFull || !isSecond ? [['as an ordinary user', ordinary, isFull] as [string, User, boolean]] : []),
      ]
    : [['as an ordinary user', undefined, true]];
  for (const [who, user, isWhole] of users) {
    describe(`${name} behind the wall, ${who}`, () => {
      let world: World | undefined;
      let refused: string | undefined;
      beforeAll(async () => {
        const installed = await installAgent(agent.package);
        if ('refused' in installed) refused = installed.refused;
        else if (user && !isReadableByAll(import.meta.dirname)) refused = 'this folder is closed to other users';
        else world = await openWorld(agent, installed.folder, user);
      });
      afterAll(() => world?.dispose());
      const shows = (title: string, show: (world: World) => Promise<void>): void =>
        test(title, async ({ skip }) => {
          if (!world) return skip(`${name} ${who}: ${refused}`);
          const { model } = world;
          onTestFailed(() => console.error(model.asked.slice(-30)));
          await show(world);
        });

      shows(
        'works, asks, is reviewed, mends in the same conversation where it keeps one (X-11, decisions 3 and 6)',
        (open) => worksAsksAndMends(open, agent),
      );
      if (!isWhole) return;
      if (agent.asksPermission)
        shows('a crossing that a human refuses does not happen, and the agent goes on (G-10)', (open) =>
          staysInside(open, agent),
        );
      if (agent.question)
        shows('its own question tool becomes a decision, and the answer comes back (decision 6)', (open) =>
          asksByItself(open, agent),
        );
      if (!agent.asksPermission)
        shows(
          'it asks nobody: what leads outside is refused by the wall, no human is asked, and it goes on (X-11)',
          (open) => wallRefuses(open, agent),
        );
      if (agent.limit)
        shows(
          'its provider refuses: the account is limited, the session pauses without a process, and the same work goes on (design 7)',
          (open) => isLimited(open, agent, agent.limit!),
        );
      shows(
        'paused in the middle of a tool it works no more; resumed it goes on with the same conversation (S-39)',
        (open) => pausesAndResumes(open, agent),
      );
      shows('stopped in the middle of a tool it leaves no process (decision 5, X-15)', (open) =>
        stopsInTool(open, agent),
      );
      shows('the server killed with -9 while it waits for a human: the same process goes on (decision 6)', (open) =>
        outlivesServer(open, agent),
      );
      if (isFull)
        shows(
          'the wall killed with -9 while it waits: its next words reach the model through another one (X-7)',
          (open) => outlivesWall(open, agent),
        );
      shows('killed with -9 it is CRASHED, and nothing of it lives on (S-45, decision 4)', (open) =>
        crashes(open, agent),
      );
    });
  }
}

async function worksAsksAndMends(world: World, agent: RealAgent): Promise<void> {
  const crossing = agent.asksPermission ? [agent.shell('git push . HEAD:refs/heads/crossed')] : [];
  const run = await world.run(
    'Add two files',
    [
      agent.shell('id -u > user.txt; echo FIXME > shell.txt'),
      agent.write('edit.txt', 'one\ntwo\n'),
      agent.shell('git add -A && git commit -q -m "Two files"'),
      ...crossing,
      { tool: 'ask_human', input: { text: 'Which word?' } },
      { tool: 'report_done', input: { summary: 'Two files are there' } },
    ],
    [
      agent.shell('echo fine > shell.txt && git commit -q -a -m "No FIXME"'),
      { tool: 'report_done', input: { summary: 'mended' } },
    ],
  );
  if (agent.asksPermission) {
    const call = await world.decision(run, 'call_approval');
    expect(call.title).toContain('git push');
    const waiting = await world.session(run, (one) => one.flags.waitingApproval);
    expect(waiting.state).toBe('RUNNING');
    expect(isPushed(world, waiting)).toBe(false);
    await world.settle(call.id, { verdict: 'approve' });
  }
  const question = await world.decision(run, 'escalation_answer');
  const first = await world.session(run, (one) => one.state === 'ESCALATED');
  expect(isPushed(world, first)).toBe(agent.asksPermission);
  if (agent.mode !== null) expect(world.conversation(first).mode).toBe(agent.mode);
  await world.settle(question.id, { verdict: 'respond', text: 'Greetings' });

  const pull = await world.pullRequest(run, (one) => one.verdicts.length === 2);
  expect(pull.verdicts.map(({ verdict }) => verdict)).toEqual(['request_changes', 'approve']);
  expect(world.model.asked.some(({ heard }) => heard.includes('Greetings'))).toBe(true);
  const clone = world.clone(first);
  expect(readFileSync(join(clone, 'edit.txt'), 'utf8')).toBe('one\ntwo\n');
  expect(readFileSync(join(clone, 'user.txt'), 'utf8').trim()).not.toBe('0');
  expect(gitIn(clone, 'log', '--format=%s %an')).toEqual(['No FIXME turing', 'Two files turing', 'Begin Ada']);

  const second = await world.session(run, (one) => one.id !== first.id);
  const { id, resumed } = world.conversation(second);
  if (!agent.forgets) expect(resumed).toBe(world.conversation(first).id);
  if (resumed !== null) expect(id).toBe(resumed);
  expect(world.model.asked.filter(({ host }) => host !== 'model.chantier.test')).toEqual([]);
}

async function staysInside(world: World, agent: RealAgent): Promise<void> {
  const run = await world.run('Push', [
    agent.shell('git push . HEAD:refs/heads/crossed'),
    agent.shell('echo stayed > stayed.txt && git add -A && git commit -q -m "Stayed"'),
    { tool: 'report_done', input: { summary: 'stayed inside' } },
  ]);
  const call = await world.decision(run, 'call_approval');
  await world.settle(call.id, { verdict: 'refuse', note: 'not outside' });
  await world.pullRequest(run);
  expect(isPushed(world, await world.session(run, () => true))).toBe(false);
}

async function asksByItself(world: World, agent: RealAgent): Promise<void> {
  const question = agent.question?.('Which word begins it?', ['Hello', 'Welcome']) as ModelStep;
  const run = await world.run('Ask', [
    question,
    agent.shell('echo x > x.txt && git add -A && git commit -q -m "X"'),
    { tool: 'report_done', input: { summary: 'asked' } },
  ]);
  const decision = await world.decision(run, 'escalation_answer');
  await world.settle(decision.id, { verdict: 'respond', text: 'Welcome' });
  await world.pullRequest(run);
  expect(world.model.asked.some(({ heard }) => heard.includes('Welcome'))).toBe(true);
}

async function wallRefuses(world: World, agent: RealAgent): Promise<void> {
  const outside = join(world.repository, 'outside.txt');
  const run = await world.run('Outside', [
    agent.shell(`(echo x > ${outside}) 2> refusal.txt; echo "ended with $?" >> refusal.txt`),
    agent.shell('git add -A && git commit -q -m "Refused"'),
    { tool: 'report_done', input: { summary: 'could not' } },
  ]);
  await world.pullRequest(run);
  const session = await world.session(run, () => true);
  expect(readFileSync(join(world.clone(session), 'refusal.txt'), 'utf8')).toMatch(/ended with [1-9]/);
  expect(existsSync(outside)).toBe(false);
  const { items } = await world.instance.get('/api/decisions?kind=call_approval&state=all&limit=100');
  expect(items.filter((one: { projectId: string }) => one.projectId === run.project.id)).toEqual([]);
}

async function isLimited(world: World, agent: RealAgent, limit: NonNullable<RealAgent['limit']>): Promise<void> {
  world.model.limit = limit.refusal();
  onTestFinished(() => {
    world.model.limit = undefined;
  });
  const run = await world.run('Be limited', [
    agent.shell('echo w > w.txt && git add -A && git commit -q -m "W"'),
    { tool: 'report_done', input: { summary: 'after the limit' }, isLimited: true },
  ]);
  const paused = await world.session(run, (one) => one.state === 'PAUSED' && one.pid === null);
  await untilGone(world, paused, 'no such words');
  const { limits } = await world.instance.get('/api/status');
  expect(limits).toMatchObject([{ reason: limit.reason }]);
  const left = Date.parse(limits[0].until) - Date.now();
  // A window says when it ends; for a moment's refusal a short time is assumed.
  expect(left).toBeGreaterThan(limit.reason === 'usage' ? 50 * 60_000 : 1000);
  expect(left).toBeLessThan(61 * 60_000);
  world.model.limit = undefined;
  await world.instance.must(['resume', paused.id]);
  await world.pullRequest(run);
  const after = await world.session(run, (one) => one.state === 'DONE');
  expect(after).toMatchObject({ id: paused.id, generation: paused.generation + 1 });
  if (!agent.forgets) expect(world.conversation(after).resumed).toBe(world.conversation(after).id);
  await world.instance.until('the account to be free', async () => {
    const status = await world.instance.get('/api/status');
    return status.limits.length === 0;
  });
}

async function pausesAndResumes(world: World, agent: RealAgent): Promise<void> {
  const run = await world.run('Pause', [
    agent.shell('touch started.txt; sleep 2345; touch slept.txt'),
    agent.shell('echo v > v.txt && git add -A && git commit -q -m "V"'),
    { tool: 'report_done', input: { summary: 'gone on' } },
  ]);
  const session = await inTool(world, run);
  await world.instance.must(['pause', session.id]);
  const paused = await world.session(run, (one) => one.state === 'PAUSED');
  expect(paused).toMatchObject({ id: session.id, generation: session.generation });
  await world.instance.until('the turn to be cut', async () => !world.conversation(session).turnOpen, 30_000);
  await world.instance.must(['resume', session.id]);
  await world.pullRequest(run);
  const after = await world.session(run, (one) => one.state === 'DONE');
  expect(after.id).toBe(session.id);
  expect(world.conversation(after).id).toBe(world.conversation(session).id);
  expect(existsSync(join(world.clone(after), 'slept.txt'))).toBe(false);
}

async function stopsInTool(world: World, agent: RealAgent): Promise<void> {
  const run = await world.run('Wait', [agent.shell('touch started.txt; sleep 3456')]);
  const session = await inTool(world, run);
  expect(findByRunMarker(runOf(session)).length).toBeGreaterThan(0);
  await world.instance.must(['stop', session.id]);
  const stopped = await world.session(run, (one) => one.state === 'ABORTED');
  await untilGone(world, stopped, 'sleep 3456');
}

async function outlivesServer(world: World, agent: RealAgent): Promise<void> {
  const waits: ModelStep = agent.asksPermission
    ? agent.shell('git push . HEAD:refs/heads/crossed')
    : { tool: 'ask_human', input: { text: 'Go on?' } };
  const run = await world.run('Outlive', [
    waits,
    agent.shell('echo y > y.txt && git add -A && git commit -q -m "Y"'),
    { tool: 'report_done', input: { summary: 'gone on' } },
  ]);
  const decision = await world.decision(run, agent.asksPermission ? 'call_approval' : 'escalation_answer');
  const before = await world.session(run, (one) => one.pid !== null);
  await world.instance.kill('SIGKILL');
  await world.instance.up();
  const verdict = agent.asksPermission ? { verdict: 'approve' } : { verdict: 'respond', text: 'yes' };
  await world.settle(decision.id, verdict);
  await world.pullRequest(run);
  const after = await world.session(run, (one) => one.state === 'DONE');
  expect(after).toMatchObject({ id: before.id, generation: before.generation, endReason: 'reported_done' });
  if (agent.asksPermission) expect(isPushed(world, after)).toBe(true);
}

async function outlivesWall(world: World, agent: RealAgent): Promise<void> {
  const run = await world.run('Outlive the wall', [
    { tool: 'ask_human', input: { text: 'Go on?' } },
    agent.shell('echo z > z.txt && git add -A && git commit -q -m "Z"'),
    { tool: 'report_done', input: { summary: 'gone on' } },
  ]);
  const decision = await world.decision(run, 'escalation_answer');
  const folder = join(ensureRunFolder(world.instance.home), 'wall');
  const wall = adoptWall(folder)!;
  process.kill(wall.pid, 'SIGKILL');
  await world.instance.until('another wall', async () => (adoptWall(folder)?.pid ?? wall.pid) !== wall.pid);
  await world.settle(decision.id, { verdict: 'respond', text: 'yes' });
  await world.pullRequest(run);
}

async function crashes(world: World, agent: RealAgent): Promise<void> {
  const run = await world.run('Die', [agent.shell('touch started.txt; sleep 4567')]);
  const session = await inTool(world, run);
  process.kill(agentProcess(session), 'SIGKILL');
  const crashed = await world.session(run, (one) => one.id === session.id && one.state === 'CRASHED');
  await untilGone(world, crashed, 'sleep 4567');
}

/** A session whose agent is in the middle of the tool that makes `started.txt`. */
async function inTool(world: World, run: Run): Promise<SessionFacts> {
  const session = await world.session(run, (one) => one.state === 'RUNNING');
  await world.instance.until(
    'the tool to run',
    async () => existsSync(join(world.clone(session), 'started.txt')),
    60_000,
  );
  return session;
}

function isPushed(world: World, session: SessionFacts): boolean {
  return gitIn(world.clone(session), 'for-each-ref', 'refs/heads/crossed').length > 0;
}

function gitIn(folder: string, ...args: string[]): string[] {
  return git(folder, '-c', `safe.directory=${folder}`, ...args)
    .split('\n')
    .filter(Boolean);
}

/** Whether another user can read what lies in `folder`: the server and the programs that it shows to agents. */
function isReadableByAll(folder: string): boolean {
  const parents = folder.split('/').map((_, at, all) => `/${all.slice(1, at + 1).join('/')}`);
  return parents.every((path) => (statSync(path).mode & 0o001) === 0o001) && (statSync(folder).mode & 0o005) === 0o005;
}
