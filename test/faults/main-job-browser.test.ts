import { createServer } from 'node:http';
import { join } from 'node:path';

import type { Browser, BrowserContext } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';

import { findChromium, openBrowser } from '../conformance/browser.ts';
import { type Crew, openCrew } from '../e2e/crew.ts';
import { git, makeMakeRepository } from '../repositories/index.ts';

const executable = findChromium();
const missing = executable ? '' : ' (not run: no Chromium is installed)';

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

async function runWithQuestion(name: string) {
  const repository = makeMakeRepository(join(crew.root, name));
  const run = await crew.run(
    repository,
    crew.request(`Greet ${name}`, [
      ['ask', `Who is greeted in ${name}?`],
      ['write', 'greeting.txt', 'hello {answer}\n'],
      ['commit', 'Greet'],
      ['done'],
    ]),
  );
  return { repository, run, question: await crew.decision(run, 'escalation_answer') };
}

/** A browser in which the operator has logged in at the console. */
async function logIn(): Promise<BrowserContext> {
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.goto(crew.url());
  await page.getByLabel('Passphrase').fill(crew.passphrase);
  await page.getByRole('button', { name: 'Log in' }).click();
  await page
    .getByText(/\d+ to decide/)
    .first()
    .waitFor();
  expect(await context.cookies()).not.toEqual([]);
  return context;
}

/** An empty page on another local port, as any program of the operator may serve one. */
async function serveElsewhere(): Promise<string> {
  const server = createServer((_request, answer) => {
    answer.setHeader('content-type', 'text/html');
    answer.end('<!doctype html><title>elsewhere</title><iframe name="hidden"></iframe>');
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as { port: number }).port}`;
}

describe.skipIf(missing)(`the console in a browser${missing}`, () => {
  test('a page on another local port has the cookie and still decides and reads nothing; what reached the server is an event', async () => {
    const { question } = await runWithQuestion('attacked');
    const context = await logIn();
    const before = (await crew.events('access.refused')).length;
    const page = await context.newPage();
    await page.goto(await serveElsewhere());
    const results = await page.evaluate(
      async ({ url, id }) => {
        const tries: [string, RequestInit][] = [
          [`/api/decisions/${id}/verdict`, { method: 'PUT', headers: { 'content-type': 'application/json' } }],
          [`/api/decisions/${id}/verdict`, { method: 'POST', mode: 'no-cors' }],
          ['/api/halt', { method: 'POST', mode: 'no-cors' }],
          ['/api/unlocks', { method: 'POST', mode: 'no-cors' }],
          ['/api/proofs', { method: 'POST', mode: 'no-cors' }],
          ['/api/runs', { method: 'POST', mode: 'no-cors', headers: { 'content-type': 'text/plain' } }],
          ['/api/decisions', {}],
          ['/api/decisions', { mode: 'no-cors' }],
          ['/api/events', { mode: 'no-cors' }],
        ];
        const seen: string[] = [];
        for (const [path, init] of tries) {
          const body = init.method === undefined ? {} : { body: JSON.stringify({ verdict: 'respond', text: 'evil' }) };
          const answer = await fetch(url + path, { credentials: 'include', ...body, ...init }).catch(() => undefined);
          const text = answer ? await answer.text().catch(() => '') : '';
          seen.push(answer === undefined ? 'failed' : `${answer.type}:${text.length}`);
        }
        const form = document.createElement('form');
        form.method = 'POST';
        form.action = `${url}/api/decisions/${id}/verdict`;
        form.target = 'hidden';
        form.enctype = 'text/plain';
        const field = document.createElement('input');
        field.name = '{"verdict":"respond","text":"evil","x":"';
        field.value = '"}';
        form.append(field);
        document.body.append(form);
        const loaded = new Promise((done) => document.querySelector('iframe')!.addEventListener('load', done));
        form.submit();
        await Promise.race([loaded, new Promise((later) => setTimeout(later, 3_000))]);
        const frame = document.createElement('iframe');
        frame.src = url;
        const framed = new Promise((done) => frame.addEventListener('load', done));
        document.body.append(frame);
        await framed;
        return seen;
      },
      { url: crew.url(), id: question.id },
    );
    expect(results.filter((one) => !/^(failed|opaque:0)$/.test(one))).toEqual([]);
    expect(page.frames().some((frame) => frame.url() === `${crew.url()}/`)).toBe(false);
    expect(await crew.get(`/api/decisions/${question.id}`)).toMatchObject({ state: 'open' });
    expect((await crew.get('/api/status')).halted).toBe(false);
    const refused = (await crew.events('access.refused')).slice(before);
    expect(refused.length).toBeGreaterThanOrEqual(6);
    expect([...new Set(refused.map((event) => event.facts.door))]).toEqual(['tcp']);
    expect([...new Set(refused.map((event) => event.facts.code))]).toEqual(['cross_origin']);
    await context.close();
    await crew.calm();
  });

  test('the operator decides in the console after log-in, and the change lands: nothing else was needed', async () => {
    const { repository, run } = await runWithQuestion('console');
    const context = await logIn();
    const [page] = context.pages();
    const card = page!.getByRole('article').filter({ hasText: 'Who is greeted in console?' }).first();
    await card.getByLabel('Answer').fill('mars');
    await card.getByRole('button', { name: 'Send answer' }).click();
    await crew.decision(run, 'landing', 60_000);
    const offer = page!.getByRole('article').filter({ hasText: 'landing' }).first();
    await offer.getByText('hello mars').first().waitFor();
    await offer.getByRole('button', { name: 'Land', exact: true }).click();
    await crew.until('the change to land', async () => git(repository, 'rev-list', '--count', 'main') === '2');
    expect(git(repository, 'show', 'main:greeting.txt')).toBe('hello mars');
    await context.close();
  });
});
