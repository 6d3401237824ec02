import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, expect, onTestFailed, test } from 'vitest';

import { leftOn } from '../e2e/left-on.ts';
import { descendants } from '../e2e/processes.ts';
import { type Person, sitDown } from '../e2e/sit-down.ts';
import { git } from '../repositories/index.ts';
import { type RealAgent, realAgents } from './agents.ts';
import { installAgent } from './install-agent.ts';
import { scriptText } from './model-script.ts';
import { openWorld, type World } from './world.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.dispose();
  world = undefined;
});

/** How a person leaves the agent's own program. */
type Leave = (person: Person) => Promise<void>;
const byCommand =
  (command: string): Leave =>
  async (person) => {
    person.type(command);
    await person.sees(new RegExp(`[❯›]\\s${command}`));
    await untilEnded(person, '\r');
  };

/** Not left at all: the program inside is killed as it stands there. */
function killed(name: string): Leave {
  return async (person) => {
    const program = descendants(person.pid).findLast(
      (pid) => readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === name,
    );
    process.kill(program!, 'SIGKILL');
    await person.ended;
  };
}

const humans: [name: string, agent: RealAgent, leave: Leave, isHardDay: boolean][] = [
  ['Claude Code', realAgents.claudeHeadless, byCommand('/exit'), true],
  ['Claude Code behind its adapter', realAgents.claude, (person) => untilEnded(person, '\u0003'), false],
  ['Codex', realAgents.codexExec, byCommand('/quit'), true],
  ['Codex behind its adapter, its terminal killed with -9', realAgents.codex, killed('codex'), false],
];

test.for(humans)(
  "%s: a human goes on in the agent's own terminal, commits and hands back; no turn is lost or doubled, and the agent knows the commit (design 7, decision 6)",
  async ([name, agent, leave, isHardDay], { skip }) => {
    const installed = await installAgent(agent.package);
    if ('refused' in installed) return skip(`${name}: ${installed.refused}`);
    world = await openWorld(agent, installed.folder);
    const { model, instance } = world;
    const run = await world.run('Begin the work of the agent', [agent.shell('touch started.txt; sleep 3456')]);
    const session = await world.session(run, (one) => one.state === 'RUNNING');
    const clone = world.clone(session);
    await instance.until('the tool', async () => existsSync(join(clone, 'started.txt')), 120_000);
    const before = world.conversation(session);

    let person = await sitDown(instance, ['takeover', session.id], { cols: 120, rows: 40 });
    onTestFailed(async () => {
      console.error((await person.screen()).text.join('\n'));
      console.error(JSON.stringify(model.asked.slice(-5)).slice(0, 6_000));
    });
    await person.sees('call the tool', 60_000);
    await person.sees(/interrupted/i);
    await say(person, 'One');
    const said = ['One'];
    if (isHardDay) {
      await instance.kill('SIGKILL');
      await say(person, 'Two');
      await instance.up();
      await say(person, 'Three');
      expect(await instance.cli(['handback', session.id])).toMatchObject({ code: 4, json: { code: 'terminal_open' } });
      process.kill(person.pid, 'SIGKILL');
      await person.ended;
      person = await instance.until('another terminal', async () => {
        const next = await sitDown(instance, ['takeover', session.id, '--again'], { cols: 120, rows: 40 });
        const seen = await next.sees(/answer: Three|terminal_open|has a terminal open/, 60_000);
        return /answer: Three/.test(seen) && next;
      });
      said.push('Two', 'Three');
    }
    await byHand(person, 'echo human > human.txt; git add -A; git commit -q -m "By the human"');
    await instance.until('the commit', async () => subject(clone) === 'By the human');
    await say(person, 'Last');
    said.push('Last');
    await leave(person);
    expect(await person.ended).toBe(0);
    await person.sees(`chantier handback ${session.id}`);
    expect(leftOn(person.written())).toEqual([]);

    const note = `Go on. ${scriptText([
      agent.shell('echo rest > rest.txt && git add -A && git commit -q -m "The rest"'),
      { tool: 'report_done', input: { summary: 'all of it' } },
    ])}`;
    const back = await instance.must(['handback', session.id, '--note', '-'], { stdin: note });
    expect(back.json.commits.map((one: { subject: string }) => one.subject)).toEqual(['By the human']);
    await world.pullRequest(run);

    const after = await world.session(run, (one) => one.id === session.id);
    expect(after).toMatchObject({ state: 'DONE', generation: 2 });
    expect(world.conversation(after)).toMatchObject({ id: before.id, resumed: before.id });
    const last = model.asked.findLast((one) => one.said.some((text) => text.includes('Go on. SCRIPT')))!;
    const count = (isIt: (text: string) => boolean): number => last.said.filter(isIt).length;
    for (const word of said) {
      expect([word, count((text) => text.includes(`Words: ${word}.`))]).toEqual([word, 1]);
      expect([word, count((text) => text.trim() === `The answer: ${word}`)]).toEqual([word, 1]);
    }
    expect(count((text) => text.includes('Begin the work of the agent\n'))).toBe(1);
    expect(count((text) => /commits of the human[^]*By the human[^]*\+human/.test(text))).toBe(1);
  },
);

/** Says something to the agent and waits for its answer. */
async function say(person: Person, word: string): Promise<void> {
  person.type(`Words: ${word}. ${scriptText([{ say: `The answer: ${word}` }])}`);
  await person.sees(new RegExp(`[❯›]\\sWords: ${word}\\.[^]*END`));
  await enter(person, new RegExp(`[●•] The answer: ${word}\\b`));
}

/** Runs a command by the program's own `!`. */
async function byHand(person: Person, command: string): Promise<void> {
  person.type('!');
  await person.sees(/^[^\w]*! ?.*$/m);
  person.type(command);
  await person.sees('"By the human"');
  await enter(person, /⎿|• You ran|Ran /);
}

/** A return that comes while the text is still taken in belongs to it, so it is given once more when nothing happens. */
async function enter(person: Person, then: RegExp): Promise<void> {
  for (const patienceMs of [5_000, 5_000, 60_000]) {
    person.type('\r');
    const isSeen = await person.sees(then, patienceMs).catch(() => undefined);
    if (isSeen !== undefined) return;
  }
  throw new Error(`the terminal never showed ${then}`);
}

/** Gives `key` until the program has ended. */
async function untilEnded(person: Person, key: string): Promise<void> {
  let hasEnded = false;
  void person.ended.then(() => (hasEnded = true));
  for (let times = 0; times < 20 && !hasEnded && !person.written().includes('The terminal is closed'); times += 1) {
    person.type(key);
    await Promise.race([person.ended, new Promise((resolve) => setTimeout(resolve, 700))]);
  }
}

function subject(clone: string): string {
  return git(clone, '-c', `safe.directory=${clone}`, 'log', '-1', '--format=%s').trim();
}
