import { join } from 'node:path';

import { expect, test } from 'vitest';

import { mustOk, newId } from '../../src/kernel/index.ts';
import type { CliTerminal } from '../../src/cli/index.ts';
import { openScreen } from '../../src/terminal/index.ts';
import { openWorld, type World } from '../app/world.ts';

const drawing = join(import.meta.dirname, '../agents/draws-screen.mjs');

/** A session whose program draws a screen, in the machine's sandbox. */
async function setup(command: string[] = [process.execPath, drawing]) {
  const world = await openWorld();
  const agent = {
    codename: 'draw',
    family: 'mistral',
    roles: ['author' as const],
    driver: 'command' as const,
    tty: true,
  };
  mustOk(await world.app.work.addAgent(world.caller(), { ...agent, command }));
  const run = await world.run(world.checkout(), 'Draw something', { author: [[]] }, { agent: 'draw' });
  const author = await world.session(run, 'author', (one) => one.state === 'RUNNING');
  return { ...world, author };
}

/** A terminal of somebody who watches: what they see, and keys to press. */
async function person(world: Pick<World, 'cli' | 'until'>, argv: string[], size = { cols: 90, rows: 25 }) {
  const screen = await openScreen(size);
  let written = '';
  let press: (keys: Buffer) => void = () => {};
  let drawn: Promise<void> = Promise.resolve();
  const terminal: CliTerminal = {
    size: () => size,
    onResize: () => () => {},
    readKeys: (take) => {
      press = take;
      return () => {};
    },
  };
  const out = (text: string): void => {
    written += text;
    drawn = drawn.then(() => screen.write(text));
  };
  const ended = world.cli(argv, { terminal, out });
  return {
    ended,
    press: (keys: string) => press(Buffer.from(keys)),
    sees: (what: string) =>
      world.until(`${argv.join(' ')} to show ${what}`, async () => {
        await drawn;
        return screen.view().text.join('\n').includes(what);
      }),
    written: () => written,
  };
}

test('attach shows a program’s screen live; with --write keys reach it and its terminal becomes mine; nobody else is typed over', async () => {
  const world = await setup();
  const { workKey, id } = world.author;
  const watching = await person(world, ['attach', workKey]);
  await watching.sees('✳ Draws 120x32');
  await watching.sees('watching · q detaches');

  const writing = await person(world, ['attach', workKey, '--write']);
  await writing.sees('Draws 90x24');
  writing.press('sesame');
  await writing.sees('keys: 6');
  await watching.sees('keys: 6');
  watching.press('x');
  watching.press('q');
  expect(await watching.ended).toMatchObject({ exitCode: 0 });

  const other = await person(world, ['attach', workKey, '--write']);
  await other.sees('keys: 6');
  writing.press('z');
  await writing.sees('Somebody else has taken the keyboard');
  other.press('ab\u001D');
  expect((await other.ended).exitCode).toBe(0);
  writing.press('q');
  await writing.ended;
  const shown = JSON.parse((await world.cli(['attach', workKey, '--json'])).out);
  expect(shown).toMatchObject({ cols: 90, rows: 24, ended: false });
  expect(shown.lines.join('\n')).toContain('keys: 8');

  const events = await world.ctx.store.read.selectFrom('event').select(['kind', 'facts']).execute();
  expect(events.filter((event) => event.kind === 'session.keyboard-taken')).toHaveLength(2);
  expect(JSON.stringify(events)).not.toContain('sesame');
  expect((await world.cli(['logs', workKey, '--all'])).out).not.toContain('sesame');
  expect((await world.cli(['attach', workKey, '--write'])).exitCode).toBe(2);
  expect(mustOk(await world.app.sessions.show(world.caller(), id)).state).toBe('RUNNING');
});

test('keys go to the holder’s program once for their key, and to nobody without a terminal', async () => {
  const world = await setup();
  const { workKey } = world.author;
  const { app, caller } = world;
  const { keyboard } = mustOk(await app.sessions.takeKeyboard(caller(), workKey, { cols: 80, rows: 24 }));
  const once = { ...caller(), idempotencyKey: newId<string>() };
  for (let again = 0; again < 3; again += 1)
    mustOk(await app.sessions.typeKeys(once, workKey, { keyboard, text: 'a' }));
  const stranger = await app.sessions.typeKeys(caller(), workKey, { keyboard: newId<string>(), text: 'b' });
  expect(stranger).toMatchObject({ ok: false, refusal: { code: 'keyboard_taken' } });
  const lines = async () => JSON.parse((await world.cli(['attach', workKey, '--json'])).out).lines.join('\n') as string;
  await world.until('one key', async () => (await lines()).includes('keys: 1'));
  await app.sessions.stop(caller(), workKey);
  await world.until('the end', async () => JSON.parse((await world.cli(['attach', workKey, '--json'])).out).ended);
  const late = await app.sessions.typeKeys(caller(), workKey, { keyboard, text: 'c' });
  expect(late).toMatchObject({ ok: false, refusal: { code: 'terminal_not_held' } });
});

test('a program gets its brief where its command says {prompt} and in its environment; an agent with a protocol is shown as its transcript', async () => {
  const script =
    'printf "%s|" "$1" | head -c 400; printf "\\n%s\\n" "$CHANTIER_PROMPT" | grep -c Draw; echo "$CHANTIER_MCP"; sleep 60';
  const world = await setup(['/bin/sh', '-c', script, 'sh', 'do: {prompt}']);
  const out = await world.until('the brief', async () => {
    const shown = (await world.cli(['logs', world.author.workKey, '--all'])).out;
    return shown.includes('"mcp"]') && shown;
  });
  expect(out).toMatch(/do: [\s\S]*Draw something/);
  const briefs = await world.ctx.store.read
    .selectFrom('prompt')
    .selectAll()
    .where('session_id', '=', world.author.id)
    .execute();
  expect(briefs).toEqual([]);

  const run = await world.run(
    world.checkout('other'),
    'Speak',
    { author: [[['say', 'spoken words'], ['hang']]] },
    { agent: 'turing' },
  );
  const speaker = await world.session(run, 'author', (one) => one.state === 'RUNNING');
  const leaving = new AbortController();
  let shown = '';
  const attached = world.cli(['attach', speaker.workKey], { out: (text) => (shown += text), signal: leaving.signal });
  await world.until('its words', async () => shown.includes('spoken words'));
  leaving.abort();
  expect((await attached).exitCode).toBe(0);
  expect(await world.cli(['attach', speaker.workKey, '--write'])).toMatchObject({ exitCode: 6 });
});
