// A whole server's part that supervises, for the tests of kill -9: opens the store, starts one session with a fake agent and
// supervises it until it is killed. Arguments: folder, name of the fake agent. Prints the session's id.
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { mustOk, ok, systemActor } from '../../src/kernel/index.ts';
import {
  defaultSessionSettings,
  type SessionContext,
  startSession,
  startSupervisor,
} from '../../src/sessions/index.ts';
import { openSqlite } from '../../src/store/index.ts';
import { fakeAgent, fakeProfile } from './agent-world.ts';
import { withoutBudgets } from '../../src/sessions/testing.ts';

const [folder = '', agent = ''] = process.argv.slice(2);
const store = await openSqlite(join(folder, 'chantier.db'));
const ctx: SessionContext = {
  store,
  settings: () => defaultSessionSettings,
  nodeId: 'local',
  ports: {
    knowsProject: async () => true,
    planLaunch: async (session) =>
      ok({
        profile: fakeProfile(),
        wrap: async (variables) => fakeAgent(session.agent, { ...variables }),
        cwd: tmpdir(),
        mcpServers: () => [],
        firstPrompt: 'Do the work.',
      }),
    judgePermission: async () => ({ kind: 'hold', decisionId: 'd-1' }),
    onEnded: async () => {},
    onHoldEnded: async () => {},
    onTurnEnded: async () => {},
    afterEnded: async () => {},
    ...withoutBudgets,
  },
};
await startSupervisor(ctx, { sessionsFolder: join(folder, 'sessions') });
const caller = { actor: systemActor('test'), scope: 'test' };
const request = { workKey: 'PD-1', projectCode: 'backend', key: 'K1', agent };
const started = mustOk(await store.tx((tx) => startSession(tx, ctx, caller, request)));
console.log(started.value.session_id);
setInterval(() => undefined, 60_000);
