// A server's part for the fault test of supervision: keeps a crew of fake agents busy with questions and answers each one after
// a while, so that there are always some open, until it is killed. Arguments: folder, number of sessions, `work` or `drain` (starts nothing, ends everything).
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ok, systemActor } from '../../src/kernel/index.ts';
import {
  createBroker,
  defaultSessionSettings,
  enqueuePrompt,
  executeCommand,
  findSession,
  listEscalations,
  readStatus,
  type SessionContext,
  startSupervisor,
} from '../../src/sessions/index.ts';
import { openSqlite } from '../../src/store/index.ts';
import { fakeAgent, fakeProfile } from '../agents/agent-world.ts';
import { withoutBudgets } from '../../src/sessions/testing.ts';

/** How long the human thinks about a question. */
const thinkMs = 400;
const [folder = '', count = '1', mode = 'work'] = process.argv.slice(2);
const store = await openSqlite(join(folder, 'chantier.db'));
const actor = systemActor('crew');
const caller = { actor, scope: 'crew' };
const ctx: SessionContext = {
  store,
  settings: () => ({ ...defaultSessionSettings, maxActive: 64, cycleMs: 500 }),
  nodeId: 'local',
  ports: {
    knowsProject: async () => true,
    planLaunch: async (session) =>
      ok({
        profile: fakeProfile(),
        wrap: async (variables) => fakeAgent(session.agent, { ...variables }),
        cwd: tmpdir(),
        mcpServers: () => [],
        firstPrompt: 'ask',
      }),
    judgePermission: async () => ({ kind: 'allow' }),
    onEnded: async () => {},
    onHoldEnded: async () => {},
    async onTurnEnded(tx, session) {
      const row = mode === 'work' ? await findSession(tx.db, session.id) : undefined;
      if (row) await enqueuePrompt(tx, row, { kind: 'tell', sourceKey: `again:${tx.now}`, text: 'ask again' });
    },
    afterEnded: async () => {},
    ...withoutBudgets,
  },
};
const supervisor = await startSupervisor(ctx, { sessionsFolder: join(folder, 'sessions'), tickMs: 100 });
const broker = createBroker(store, actor);
const keys = Array.from({ length: Number(count) }, (_, index) => `PD-${index + 1}`);
if (mode === 'work') {
  for (const workKey of keys) {
    const start = { agent: 'asks-question' };
    const args = { workKey, projectCode: 'backend', key: `start:${workKey}:${Date.now()}`, start };
    await executeCommand(ctx, broker, caller, 'start', args);
  }
}
process.stdout.write('ready\n');

/** Answers open questions with their own ids, under keys that name them. */
async function answerAll(): Promise<void> {
  const open = await listEscalations(store.read);
  const ripe = mode === 'drain' ? open : open.filter((each) => Date.now() - Date.parse(each.created_at) >= thinkMs);
  for (const { work_key: workKey, escalation_id: id } of ripe)
    await executeCommand(ctx, broker, caller, 'respond', { workKey, text: `answer-${id}`, key: id, escalationId: id });
}

async function isIdle(): Promise<boolean> {
  const sessions = await readStatus(store.read);
  return sessions.every((each) => each.state === 'RUNNING' && !each.working.value && each.queued_prompts === 0);
}

const drainUntil = Date.now() + 60_000;
for (;;) {
  await answerAll();
  await new Promise((resolve) => setTimeout(resolve, 20));
  if (mode === 'drain' && ((await isIdle()) || Date.now() > drainUntil)) break;
}
process.stdout.write(`${JSON.stringify(await supervisor.stopAll({ actor, reason: 'drained' }))}\n`);
await new Promise((resolve) => setTimeout(resolve, 1_000));
await supervisor.stop();
await store.close();
