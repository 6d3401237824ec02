import { expect, it } from 'vitest';

import { mustOk } from '../kernel/index.ts';
import { eachStore } from '../store/testing.ts';
import {
  addClient,
  addToCatalogue,
  type AgentEntry,
  assignAgent,
  createProject,
  findAgent,
  installScopes,
  listAgents,
  listCatalogue,
  listClients,
  listScopes,
  liveAssignments,
  neutralScopes,
  registerAgent,
  retireAgent,
  seedScopes,
  showTask,
  unassignAgent,
} from './index.ts';
import { agents, moreTasks, operator, refusedCode, world } from './testing.ts';

const turing: AgentEntry = {
  codename: 'turing',
  family: 'claude',
  driver: 'acp',
  command: ['/usr/bin/agent', '--acp'],
  roles: ['author', 'reviewer'],
};

eachStore((_dialect, open) => {
  it('registers an agent, changes it, and says when nothing changed (L-18)', async () => {
    const { store } = await open();
    const register = (entry: AgentEntry) =>
      store.tx((tx) => registerAgent(tx, entry, { actor: operator, source: 'operator' }));
    expect(mustOk(await register(turing))).toMatchObject({ change: 'added', agent: { isActive: true, version: 1 } });
    expect(mustOk(await register(turing)).change).toBe('none');
    const changed = mustOk(await register({ codename: 'turing', nickname: 'Al', envNames: ['API_KEY'] }));
    expect(changed).toMatchObject({
      change: 'changed',
      agent: { nickname: 'Al', command: ['/usr/bin/agent', '--acp'], envNames: ['API_KEY'], version: 2 },
    });
    await store.settled();
    const events = await store.read.selectFrom('event').select(['kind', 'facts']).orderBy('seq').execute();
    expect(events.map((event) => event.kind)).toEqual(['agent.registered', 'agent.updated']);
    expect(JSON.parse(events[1]?.facts ?? '')).toEqual({ fields: ['nickname', 'env_names'], version: 2 });
  });

  it('refuses a bad agent and names everything that is wrong', async () => {
    const { store } = await open();
    const bad = { codename: 'X', family: '', driver: 'telnet', command: [], roles: ['king'], envNames: ['A=b'] };
    const result = await store.tx((tx) =>
      registerAgent(tx, bad as unknown as AgentEntry, { actor: operator, source: 'operator' }),
    );
    expect(result).toMatchObject({ ok: false, refusal: { code: 'bad_agent' } });
    expect(result.ok ? [] : result.refusal.facts?.faults).toHaveLength(6);
    expect(await listAgents(store.read)).toEqual([]);
  });

  it('gives a retired agent no new work, keeps it in the list, and takes it back', async () => {
    const { store } = await open();
    await agents(store, 'turing', 'hopper');
    mustOk(await store.tx((tx) => retireAgent(tx, 'turing', operator)));
    mustOk(await store.tx((tx) => retireAgent(tx, 'turing', operator)));
    expect((await listAgents(store.read, { activeOnly: true })).map((agent) => agent.codename)).toEqual(['hopper']);
    expect(await listAgents(store.read)).toHaveLength(2);
    expect(await listAgents(store.read, { role: 'reviewer' })).toEqual([]);
    const payload = {
      codename: 'proj-one',
      title: 'One',
      first_job: { codename: 'first-job', title: 'First' },
      first_task: { title: 'x', assignee: 'turing' },
    };
    const refused = await store.tx((tx) => createProject(tx, { payload, actor: operator }));
    expect(refused).toMatchObject({ refusal: { facts: { faults: [{ code: 'unknown_agent' }] } } });
    await agents(store, 'turing');
    expect(mustOk(await findAgent(store.read, 'turing')).isActive).toBe(true);
    mustOk(await store.tx((tx) => createProject(tx, { payload, actor: operator })));
    expect(await findAgent(store.read, 'nobody')).toMatchObject({ ok: false, refusal: { code: 'unknown_agent' } });
  });

  it('begins with the neutral scopes; a preset replaces them without touching what uses them (L-9, L-67, decision 18)', async () => {
    const { store } = await open();
    const names = async (): Promise<[string[], string[]]> => {
      const { project, task } = await listScopes(store.read);
      return [project.map((scope) => scope.codename), task.map((scope) => scope.codename)];
    };
    const sorted = (preset: typeof neutralScopes): [string[], string[]] => [
      preset.project.map((scope) => scope.codename).toSorted(),
      preset.task.map((scope) => scope.codename).toSorted(),
    ];
    expect(await names()).toEqual(sorted(neutralScopes));
    const made = await world(store, [{ title: 'a', scope: 'internal' }]);
    mustOk(await store.tx((tx) => installScopes(tx, seedScopes, operator)));
    expect(await names()).toEqual(sorted(seedScopes));
    expect((await made.task('a')).scope).toBe('internal');
    const bad = { project: [{ codename: 'x', minAgents: 0 }], task: [] };
    expect(await refusedCode(store, (tx) => installScopes(tx, bad, operator))).toBe('bad_scope');
    expect(await names()).toEqual(sorted(seedScopes));
    mustOk(await store.tx((tx) => installScopes(tx, neutralScopes, operator)));
    expect(await names()).toEqual(sorted(neutralScopes));
  });

  it('keeps a team with its roles and history (L-17)', async () => {
    const { store } = await open();
    await agents(store, 'turing', 'hopper');
    const { projectId } = await world(store);
    const assign = (agent: string, role: 'production' | 'lead_production' | 'validation') =>
      store.tx((tx) => assignAgent(tx, { projectId, agent, role, notes: 'knows it', actor: operator }));
    mustOk(await assign('turing', 'production'));
    mustOk(await assign('turing', 'production'));
    mustOk(await assign('turing', 'lead_production'));
    expect(await assign('hopper', 'lead_production')).toMatchObject({ ok: false, refusal: { code: 'lead_taken' } });
    expect(mustOk(await assign('turing', 'validation')).warnings).toEqual([
      'turing both produces and validates in this project',
    ]);
    const end = () =>
      store.tx((tx) => unassignAgent(tx, { projectId, agent: 'turing', role: 'production', actor: operator }));
    expect([mustOk(await end()).ended, mustOk(await end()).ended]).toEqual([true, false]);
    expect((await liveAssignments(store.read, projectId)).map((row) => row.role)).toEqual([
      'lead_production',
      'validation',
    ]);
    mustOk(await assign('turing', 'production'));
    expect(await store.read.selectFrom('assignment').selectAll().execute()).toHaveLength(4);
  });

  it('adds clients, skills and tools once', async () => {
    const { store } = await open();
    const add = (codename: string, name: string) =>
      refusedCode(store, (tx) => addClient(tx, { codename, name, emailDomains: ['acme.test'], actor: operator }));
    expect([await add('acme', 'Acme'), await add('acme', 'Acme'), await add('a', 'A'), await add('beta', '')]).toEqual([
      'not refused',
      'client_taken',
      'bad_client',
      'bad_client',
    ]);
    expect(await listClients(store.read)).toHaveLength(1);
    const skill = { kind: 'skill' as const, codename: 'sql', description: 'Queries', actor: operator };
    const id = await store.tx((tx) => addToCatalogue(tx, skill));
    expect(await store.tx((tx) => addToCatalogue(tx, skill))).toBe(id);
    expect(await listCatalogue(store.read, 'skill')).toHaveLength(1);
    const made = await world(store);
    const [task] = await moreTasks(made, { title: 'q', skills: ['sql'] });
    expect(mustOk(await showTask(store.read, task?.id ?? '', 0)).skills).toEqual(['sql']);
  });
});
