import { chownSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

import { expect, test } from 'vitest';

import { realAgents } from './agents.ts';
import { installAgent } from './install-agent.ts';
import { openWorld } from './world.ts';

/** The server's own user and the operator are one: then the log-in that an agent is shown is the operator's file. */
const user = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : undefined;

test('a key handed over to the adapter of Codex never takes the place of the log-in that the operator has (design 4)', async ({
  skip,
}) => {
  const agent = realAgents.codex;
  const installed = await installAgent(agent.package);
  if ('refused' in installed) return skip(`Codex: ${installed.refused}`);
  const world = await openWorld(agent, installed.folder, user);
  try {
    const folder = join(world.instance.env.HOME!, '.codex');
    const file = join(folder, 'auth.json');
    const tokens = { id_token: 'a.b.c', access_token: 'x', refresh_token: 'y', account_id: 'z' };
    const logIn = JSON.stringify({ OPENAI_API_KEY: null, tokens });
    mkdirSync(folder, { mode: 0o700 });
    writeFileSync(file, logIn, { mode: 0o600 });
    for (const path of user ? [folder, file] : []) chownSync(path, user!.uid, user!.gid);
    const run = await world.run('Log in', [agent.shell('touch started.txt; sleep 3456')]);
    const session = await world.session(run, (one) => one.state === 'RUNNING');
    await world.instance.until('the tool', async () => existsSync(join(world.clone(session), 'started.txt')), 120_000);
    await world.instance.must(['stop', session.id]);
    await world.session(run, (one) => one.state === 'ABORTED' && one.pid === null);
    expect(readFileSync(file, 'utf8')).toBe(logIn);
  } finally {
    await world.dispose();
  }
});
