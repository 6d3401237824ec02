import { existsSync } from 'node:fs';
import { join } from 'node:path';

import { afterEach, expect, onTestFailed, test } from 'vitest';

import { type RealAgent, realAgents } from './agents.ts';
import { installAgent } from './install-agent.ts';
import { scriptText } from './model-script.ts';
import { openWorld, type World } from './world.ts';

let world: World | undefined;
afterEach(async () => {
  await world?.dispose();
  world = undefined;
});

/**
 * The human's turn is the agent's own headless resume, typed into the shell of `takeover --shell`: the same program and
 * conversation that the interactive one opens, without a screen to read.
 */
const humans: [name: string, agent: RealAgent, resume: (program: string, id: string) => string][] = [
  [
    'Claude Code headless',
    realAgents.claudeHeadless,
    (program, id) => `"${program}" -p --resume ${id} --permission-mode default`,
  ],
  ['claude-agent-acp', realAgents.claude, (_program, id) => `"$CLAUDE" -p --resume ${id} --permission-mode default`],
  ['codex exec', realAgents.codexExec, (program, id) => codexWords(program, id)],
  // What the adapter was told of the model by its own variable stands on the human's command line.
  ['codex-acp', realAgents.codex, (_program, id) => `CODEX_API_KEY="$OPENAI_API_KEY" ${codexWords('$CODEX', id)}`],
];

function codexWords(program: string, id: string): string {
  const own = realAgents.codexExec.arguments.map((word) => `'${word}'`).join(' ');
  return `"${program}" exec --json --skip-git-repo-check --dangerously-bypass-approvals-and-sandbox ${own} resume ${id}`;
}

test.for(humans)(
  '%s: a human goes on in its conversation and commits; handed back the agent knows both, and no turn is lost (design 7, decision 6)',
  async ([name, agent, resume], { skip }) => {
    const installed = await installAgent(agent.package);
    if ('refused' in installed) return skip(`${name}: ${installed.refused}`);
    world = await openWorld(agent, installed.folder);
    const { model, instance } = world;
    onTestFailed(() => console.error(JSON.stringify(model.asked.slice(-5)).slice(0, 6_000)));
    const run = await world.run('Begin the work of the agent', [agent.shell('touch started.txt; sleep 3456')]);
    const session = await world.session(run, (one) => one.state === 'RUNNING');
    const clone = world.clone(session);
    await instance.until('the tool', async () => existsSync(join(clone, 'started.txt')), 120_000);
    const before = world.conversation(session);

    const claude = join(installed.folder, realAgents.claudeHeadless.program);
    const words = `Words of the human. ${scriptText([{ say: 'An answer to the human' }])}`;
    const typed = [
      `CLAUDE='${claude}' CODEX='${join(installed.folder, realAgents.codexExec.program)}'`,
      `${resume(join(installed.folder, agent.program), before.id!)} '${words}' </dev/null >&2`,
      'echo human > human.txt; git add human.txt; git commit -q -m "By the human"; rm -f started.txt',
      '',
    ].join('\n');
    const taken = await instance.must(['takeover', session.id, '--shell'], { stdin: typed });
    expect(taken.json.terminal.resume).toContain(before.id);
    expect(taken.stderr).toContain('An answer to the human');
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
    const last = model.asked.findLast(({ said }) => said.some((text) => text.includes('By the human')));
    const heard = last!.said.join('\n');
    for (const part of ['Begin the work of the agent', 'Words of the human', 'An answer to the human', '+human'])
      expect(heard, part).toContain(part);
  },
);
