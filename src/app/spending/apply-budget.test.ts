import { expect, it } from 'vitest';

import { mustOk } from '../../kernel/index.ts';
import { openWorld } from '../../../test/app/world.ts';

it('a budget of a first task holds for that task, and one that cannot be read makes no project (sessions decision 7)', async () => {
  const world = await openWorld();
  const { work } = world.app;
  const project = (budget: string) => ({
    codename: 'shop-round',
    title: 'Round',
    firstJob: { codename: 'first', title: 'First' },
    firstTasks: [{ title: 'Read' }, { title: 'Write', budget }],
  });
  expect(await work.createProject(world.caller(), project('a lot'))).toMatchObject({ ok: false });
  expect(mustOk(await work.listProjects(world.caller(), { limit: 10 })).items).toEqual([]);
  mustOk(await work.createProject(world.caller(), project('2M')));
  const { items } = mustOk(await work.listTasks(world.caller(), { limit: 10, project: 'shop-round' }));
  const budgets = await Promise.all(
    items.map(async ({ id, title }) => [title, mustOk(await work.showTask(world.caller(), id)).budget?.capTokens]),
  );
  expect(Object.fromEntries(budgets)).toMatchObject({ Write: 2_000_000 });
  expect(Object.fromEntries(budgets).Read).not.toBe(2_000_000);
});
