import { sql } from 'kysely';
import { expect, it } from 'vitest';

import { canonicalJson, mustOk } from '../kernel/index.ts';
import type { Store } from '../store/index.ts';
import { eachStore } from '../store/testing.ts';
import { addClient, createProject, installScopes, listProposals, seedScopes, settleProposal } from './index.ts';
import { agents, openDecisions, operator } from './testing.ts';

const good = {
  codename: 'shop-rewrite',
  title: 'Rewrite the shop',
  first_job: { codename: 'first-job', title: 'Find out' },
  first_tasks: [{ title: 'Read the old code', tokens_estimated: 2000 }],
};

const create = (store: Store, payload: unknown, dryRun = false) =>
  store.tx((tx) => createProject(tx, { payload, actor: operator, dryRun }));

async function faultsOf(store: Store, payload: unknown): Promise<string[]> {
  const result = await create(store, payload);
  if (result.ok) return ['created'];
  expect(result.refusal).toMatchObject({ kind: 'invalid', code: 'validation_failed' });
  const faults = result.refusal.facts?.faults as { path: string; code: string }[];
  return faults.map((fault) => `${fault.path} ${fault.code}`);
}

async function rows(store: Store): Promise<number[]> {
  const counts: number[] = [];
  for (const table of ['project', 'job', 'task', 'task_dependency', 'event', 'proposal'] as const) {
    const { n } = await store.read
      .selectFrom(table)
      .select((eb) => eb.fn.countAll().as('n'))
      .executeTakeFirstOrThrow();
    counts.push(Number(n));
  }
  return counts;
}

eachStore((dialect, open) => {
  it('creates project, job and tasks and gives every id, ours and the seed’s (L-31, L-37)', async () => {
    const { store } = await open();
    await agents(store, 'turing', 'hopper');
    const made = mustOk(
      await create(store, {
        ...good,
        first_tasks: [
          { title: 'One', assignee: 'turing', tokens_estimated: 1500 },
          { title: 'Two', assignee: 'hopper', blocked_by: [1], priority: 'P0' },
        ],
      }),
    );
    expect(made.codenames).toEqual({
      project: 'shop-rewrite',
      job: 'first-job',
      tasks: ['first-job-t1', 'first-job-t2'],
    });
    expect(made.task_ids).toHaveLength(2);
    expect(made).toMatchObject({ task_id: made.task_ids[0], id_tache: made.task_ids[0], id_taches: made.task_ids });
    expect(made.warnings).toEqual([
      expect.stringMatching(/^first_tasks\[1\] has no token estimate; \d+ was estimated$/),
    ]);
    expect(JSON.parse(canonicalJson(made))).toEqual(made);
    const tasks = await store.read.selectFrom('task').selectAll().orderBy('seq').execute();
    expect(tasks.map((task) => [task.model_recommended, task.estimate_source, task.open_blockers])).toEqual([
      ['medium', 'caller', 0],
      ['high', 'estimator', 1],
    ]);
    await store.settled();
    const events = await store.read.selectFrom('event').select(['id', 'kind', 'cause']).orderBy('seq').execute();
    const mine = events.filter((event) => !event.kind.startsWith('agent.'));
    expect(mine.map((event) => event.kind)).toEqual(['project.created', 'job.added', 'task.added', 'task.added']);
    expect(mine.slice(1).every((event) => event.cause === mine[0]?.id)).toBe(true);
  });

  it('reports one violation of each kind at once and stores nothing (LT-1, L-33)', async () => {
    const { store } = await open();
    mustOk(await create(store, good));
    const before = await rows(store);
    expect(
      await faultsOf(store, {
        codename: 'shop-rewrite',
        title: ' ',
        priority: 'P9',
        scope: 'client',
        typo: 1,
        first_job: { codename: 'ab', title: '', priority: 'urgent' },
        first_task: { title: 'x' },
        first_tasks: [
          { title: 'One', assignee: 'nobody', tokens_estimated: -1 },
          { title: 'Two', blocked_by: ['three'] },
        ],
      }),
    ).toEqual([
      'title empty',
      'priority unknown_choice',
      'typo unknown_field',
      'first_job.title empty',
      'first_job.priority unknown_choice',
      'first_job.codename bad_codename',
      'first_task given_twice',
      'first_tasks[0].tokens_estimated wrong_number',
      'first_tasks[1].blocked_by unknown_task',
      'first_tasks[0].assignee unknown_agent',
      'codename codename_taken',
      'client client_required',
      'scope too_few_agents',
    ]);
    expect(await rows(store)).toEqual(before);
  });

  it('stores nothing when the third insert fails (LT-2)', async () => {
    const { store } = await open();
    await store.tx(async (tx) => {
      const body =
        dialect === 'sqlite'
          ? [`CREATE TRIGGER boom BEFORE INSERT ON task WHEN NEW.title = 'boom' BEGIN SELECT RAISE(ABORT, 'boom'); END`]
          : [
              `CREATE FUNCTION boom() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'boom'; END $$`,
              `CREATE TRIGGER boom BEFORE INSERT ON task FOR EACH ROW WHEN (NEW.title = 'boom') EXECUTE FUNCTION boom()`,
            ];
      for (const statement of body) await sql.raw(statement).execute(tx.db);
    });
    const tasks = [{ title: 'one' }, { title: 'two' }, { title: 'boom' }];
    await expect(create(store, { ...good, first_tasks: tasks })).rejects.toThrow('boom');
    expect((await rows(store)).slice(0, 5)).toEqual([0, 0, 0, 0, 0]);
  });

  it('judges codenames as the rule says (L-33a, decision 2)', async () => {
    const { store } = await open();
    const fine = ['abcd', 'a'.repeat(64), 'a--b', '1234'];
    const bad = ['abc', 'a'.repeat(65), '-abc', 'abc-', 'Abcd', 'abcd\n', 'ab_cd', '', 'é123'];
    for (const codename of fine) expect(await faultsOf(store, { ...good, codename }), codename).toEqual(['created']);
    for (const codename of bad) {
      expect(await faultsOf(store, { ...good, codename }), codename).toEqual(['codename bad_codename']);
    }
  });

  it('refuses first_tache together with first_taches, and neither (LT-18, L-33e)', async () => {
    const { store } = await open();
    const { first_tasks: _tasks, ...rest } = good;
    const task = { title: 'x', tokens_estimated: 1 };
    expect(await faultsOf(store, { ...rest, first_tache: task, first_taches: [task] })).toEqual([
      'first_tache given_twice',
    ]);
    expect(await faultsOf(store, rest)).toEqual(['first_tasks missing']);
    expect(await faultsOf(store, { ...rest, first_tasks: [] })).toEqual(['first_tasks no_tasks']);
    expect(await faultsOf(store, { ...rest, first_task: task })).toEqual(['created']);
  });

  it('takes the names of the seed as they are (L-32, decision 19)', async () => {
    const { store } = await open();
    await agents(store, 'turing', 'hopper');
    await store.tx((tx) => installScopes(tx, seedScopes, operator));
    await store.tx((tx) => addClient(tx, { codename: 'acme', name: 'Acme', actor: operator }));
    const payload = {
      codename: 'chantier-un',
      title: 'Premier chantier',
      scope: 'tenant',
      client_id: 'acme',
      mission_letter: 'La lettre',
      auto_explode: false,
      max_cost_eur: 12.5,
      first_travail: { codename: 'travail-un', title: 'Découverte', phase: 'audit', kind: 'discovery' },
      first_taches: [
        { title: 'Un', assignee: 'turing', token_estimate: 9000, model: 'haiku' },
        { title: 'Deux', assignee: 'hopper', duration: 30, visual_url: 'https://example.org' },
      ],
    };
    const made = mustOk(await create(store, payload));
    expect(made.id_taches).toHaveLength(2);
    const project = await store.read.selectFrom('project').selectAll().executeTakeFirstOrThrow();
    expect(project).toMatchObject({
      status: 'planning',
      mission_brief: 'La lettre',
      auto_decompose: 0,
      max_cost_micros: 12_500_000,
      scope: 'tenant',
    });
    const tasks = await store.read.selectFrom('task').selectAll().orderBy('seq').execute();
    expect(tasks[0]).toMatchObject({ model_recommended: 'light', model_source: 'explicit', tokens_estimated: 9000 });
    expect(tasks[1]).toMatchObject({ duration_min_estimated: 30, model_source: 'rule' });
  });

  it('counts distinct assignees where a project or task scope asks for two (L-33g, decisions 16 to 18)', async () => {
    const { store } = await open();
    await agents(store, 'turing', 'hopper');
    await store.tx((tx) => addClient(tx, { codename: 'acme', name: 'Acme', actor: operator }));
    const task = (assignee: string, scope?: string) => ({
      title: assignee,
      assignee,
      tokens_estimated: 1,
      ...(scope ? { scope } : {}),
    });
    const client = { scope: 'client', client: 'acme' };
    expect(await faultsOf(store, { ...good, ...client, first_tasks: [task('turing'), task('turing')] })).toEqual([
      'scope too_few_agents',
    ]);
    expect(await faultsOf(store, { ...good, first_tasks: [task('turing', 'client-single')] })).toEqual([
      'scope too_few_agents',
    ]);
    expect(await faultsOf(store, { ...good, scope: 'tenant' })).toEqual(['scope unknown_scope']);
    expect(await faultsOf(store, { ...good, ...client, first_tasks: [task('turing'), task('hopper')] })).toEqual([
      'created',
    ]);
  });

  it('inserts nothing in a dry run and shows what it would (LT-20, L-38)', async () => {
    const { store } = await open();
    const result = mustOk(
      await create(store, { ...good, first_tasks: [{ title: 'One', skills: ['unheard-of'] }] }, true),
    );
    expect(result).toMatchObject({
      dry_run: true,
      project_id: null,
      task_ids: [],
      codenames: { project: 'shop-rewrite', job: 'first-job', tasks: ['first-job-t1'] },
      plan: { project: { title: 'Rewrite the shop' }, tasks: [{ title: 'One', model_recommended: 'light' }] },
    });
    expect(await rows(store)).toEqual([0, 0, 0, 0, 0, 0]);
    expect((await create(store, { ...good, codename: 'x' }, true)).ok).toBe(false);
  });

  it('warns of an unknown skill and proposes it, once for each name (LT-19, L-36, decision 44)', async () => {
    const { store } = await open();
    const made = mustOk(
      await create(store, {
        ...good,
        first_tasks: [
          { title: 'One', tokens_estimated: 1, skills: ['sql', 'rust'], tools: ['psql'] },
          { title: 'Two', tokens_estimated: 1, skills: ['sql'] },
        ],
      }),
    );
    expect(made.warnings).toEqual([
      'first_tasks[0] asks for the skill sql, which is unknown: it was proposed',
      'first_tasks[0] asks for the skill rust, which is unknown: it was proposed',
      'first_tasks[1] asks for the skill sql, which is unknown: it was proposed',
      'first_tasks[0] asks for the tool psql, which is unknown: it was proposed',
    ]);
    const proposals = await listProposals(store.read);
    expect(proposals.map((row) => `${row.kind} ${row.codename}`).toSorted()).toEqual([
      'skill rust',
      'skill sql',
      'tool psql',
    ]);
    expect((await openDecisions(store)).map((decision) => decision.kind)).toEqual(['proposal', 'proposal', 'proposal']);

    const wanted = proposals.find((row) => row.codename === 'sql')?.id ?? '';
    mustOk(await store.tx((tx) => settleProposal(tx, { proposalId: wanted, accept: true, actor: operator })));
    const attached = await store.read.selectFrom('task_skill').select('task_id').execute();
    expect(attached.map((row) => row.task_id).toSorted()).toEqual(made.task_ids.toSorted());
    expect(await openDecisions(store)).toHaveLength(2);
    const again = await store.tx((tx) => settleProposal(tx, { proposalId: wanted, accept: false, actor: operator }));
    expect(again).toMatchObject({ ok: false, refusal: { code: 'proposal_settled' } });
  });

  it('keeps a codename for one of two that ask at once, with the same refusal as ever (decision 3)', async () => {
    const { store } = await open();
    const results = await Promise.all([create(store, good), create(store, good), create(store, good)]);
    expect(results.filter((result) => result.ok)).toHaveLength(1);
    for (const result of results) {
      if (!result.ok) expect(result.refusal).toMatchObject({ code: 'validation_failed' });
    }
    expect((await rows(store)).slice(0, 3)).toEqual([1, 1, 1]);
  });
});
