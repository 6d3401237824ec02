import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

import type { AxeResults } from 'axe-core';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { type Crew, openCrew } from '../e2e/crew.ts';
import { makeMakeRepository } from '../repositories/index.ts';
import { findChromium, openBrowser } from './browser.ts';

const executable = findChromium();
const missing = executable ? '' : ' (not run: no Chromium is installed)';
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

let crew: Crew;
let browser: Browser;
beforeAll(async () => {
  if (!executable) return;
  crew = await openCrew();
  browser = await openBrowser(executable, crew.root);
});
afterAll(async () => {
  await browser?.close();
  await crew?.dispose();
});

describe.skipIf(missing)(`axe on the console: WCAG 2.2 AA${missing}`, () => {
  it('bites: a picture without words is found', async () => {
    const page = await browser.newPage();
    await page.setContent('<html lang="en"><title>t</title><main><h1>t</h1><img src="x.png"></main></html>');
    expect(await violationsOf(page)).toEqual([expect.stringContaining('image-alt')]);
    await page.close();
  });

  it('finds nothing on the log-in, on a wide screen, on a phone and in the dark', async () => {
    for (const screen of screens) {
      const page = await openPage(screen);
      await page.getByLabel('Passphrase').waitFor();
      expect(await violationsOf(page), JSON.stringify(screen)).toEqual([]);
      await page.close();
    }
  });

  it('finds nothing on the board with a question, a call and a landing to decide', async () => {
    const repository = makeMakeRepository(join(crew.root, 'repository'));
    const asks = await crew.run(
      repository,
      crew.request('Greet the moon', [['ask', 'Who shall be greeted?'], ['hang']]),
    );
    const calls = await crew.run(
      repository,
      crew.request('Publish it', [['mayRun', 'git push origin HEAD'], ['hang']]),
    );
    const lands = await crew.run(
      repository,
      crew.request('Greet the sun', [['write', 'greeting.txt', 'hello sun\n'], ['commit', 'Greet the sun'], ['done']]),
    );
    await crew.decision(asks, 'escalation_answer');
    await crew.decision(calls, 'call_approval');
    await crew.decision(lands, 'landing');

    for (const screen of screens) {
      const page = await openPage(screen);
      await page.getByLabel('Passphrase').fill(crew.passphrase);
      await page.getByRole('button', { name: 'Log in' }).click();
      await page.getByText('Who shall be greeted?').first().waitFor();
      await page.getByText('3 to decide').waitFor();
      expect(await violationsOf(page), JSON.stringify(screen)).toEqual([]);
      await page.close();
    }
  });
});

const screens = [
  { viewport: { width: 1280, height: 800 }, colorScheme: 'light' },
  { viewport: { width: 1280, height: 800 }, colorScheme: 'dark' },
  { viewport: { width: 390, height: 844 }, colorScheme: 'light' },
] as const;

/** A page of its own, without cookies. */
async function openPage(screen: (typeof screens)[number]): Promise<Page> {
  const page = await browser.newPage({ ...screen, reducedMotion: 'reduce' });
  await page.goto(crew.url());
  return page;
}

/** What axe objects to, each with where. */
async function violationsOf(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
  const run = `axe.run({ runOnly: ${JSON.stringify(tags)} })`;
  const { violations } = await page.evaluate<AxeResults>(run);
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
}
