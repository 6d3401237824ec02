import { expect, test } from 'vitest';

import type { PullRequestView } from '../../src/wire/index.ts';
import { deliver, judge, openWorld } from '../app/world.ts';

test('a check is not shown without its exit code and how long it took, green or red', async () => {
  const world = await openWorld();
  const words = (path: string, text: string) => ({ author: [deliver(path, text)], reviewer: [judge(path)] });
  const green = await world.run(world.checkout(), 'Write', words('note.txt', 'hello\n'));
  await world.decision(green, 'landing');
  const shown = async (id: string) => {
    const json = JSON.parse((await world.cli(['pr', 'show', id, '--json'])).out) as PullRequestView;
    return { checks: json.checks, text: (await world.cli(['pr', 'show', id])).out };
  };
  const passed = await shown((await world.pull(green)).id);
  expect(passed.checks).toMatchObject([{ status: 'passed', exitCode: 0, durationMs: expect.any(Number) }]);
  expect(passed.text).toMatch(/^check \S+: passed, exit 0, after \d+\.\d s$/m);

  const red = await world.run(world.checkout('second'), 'Break', words('greeting.txt', 'silence\n'));
  const pull = await world.pull(red, (one) => one.checks.some((check) => check.status === 'failed'));
  const failed = await shown(pull.id);
  expect(failed.checks).toMatchObject([{ status: 'failed', exitCode: 2, durationMs: expect.any(Number) }]);
  expect(failed.text).toMatch(/^check \S+: failed, exit 2, after \d+\.\d s$/m);
});
