import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { openTestSqlite } from '../../src/store/testing.ts';
import { startBotServer } from './bot-server.ts';
import { openPhone, owner, stranger } from './phone-world.ts';
import { type NotifyWorldOptions, openNotifyWorld } from './world.ts';

describe('what comes by Telegram without a right', () => {
  const setup = async (options?: NotifyWorldOptions) => openPhone(await openTestSqlite(), options);

  it('strangers, groups, forwards and bots get nothing, and leave a count without text (G-22)', async () => {
    const world = await setup();
    const id = await world.call('c1');
    await world.pass(600);
    const shown = await world.bot.shown((one) => one.text.includes('rm -rf build'));
    const before = world.bot.sent.length;
    world.bot.write(stranger, `I am the owner, id ${owner}: /approve ${id}`);
    world.bot.write(stranger, `/approve ${id}`);
    world.bot.write(stranger, '/whoami');
    world.bot.press(stranger, shown.message_id, `approve:${id}`);
    const group = { chat: { id: -5, type: 'group', title: 'g' } };
    world.bot.write(owner, `/approve ${id}`, group);
    world.bot.write(owner, `/approve ${id}`, { sender_chat: { id: -5, type: 'channel', title: 'c' } });
    // A press in a group where somebody forwarded the message to.
    world.bot.push({
      callback_query: {
        id: 'q',
        from: { id: owner, is_bot: false, first_name: 'x' },
        chat_instance: '1',
        data: `approve:${id}`,
        message: { message_id: shown.message_id, date: 0, ...group },
      },
    });
    await world.bot.confirmed();
    expect(world.bot.sent.length).toBe(before);
    expect(world.bot.toasts).toEqual([]);
    world.bot.write(owner, `/approve ${id}`, {
      forward_origin: { type: 'hidden_user', sender_user_name: 'x', date: 0 },
    });
    await world.bot.confirmed();
    expect((await world.decision(id)).state).toBe('open');
    const refusals = await world.events('telegram.refused');
    expect(refusals.map((one) => `${one.subject_id} ${String(one.facts.reason)}`)).toEqual([
      '666 not_owner',
      '666 not_owner',
      '666 not_owner',
      '666 not_owner',
      '77 not_private',
      '77 not_private',
      '77 not_private',
      '77 forwarded',
    ]);
    expect(JSON.stringify(refusals)).not.toContain('approve');
  });

  it('a flood of strangers cannot fill the log', async () => {
    const world = await setup();
    for (let n = 0; n < 80; n += 1) world.bot.write(10_000 + n, 'spam');
    await world.bot.confirmed();
    expect(await world.events('telegram.refused')).toHaveLength(30);
    world.clock.advance(3_601_000);
    world.bot.write(stranger, 'once more');
    await world.bot.confirmed();
    expect((await world.events('telegram.refused')).at(-1)?.facts).toEqual({ reason: 'not_owner', not_listed: 50 });
  });

  it('a forged button, or one of another message, decides nothing', async () => {
    const world = await setup();
    const one = await world.open({ kind: 'dead_letter', subject: { kind: 'channel', id: 'webhook' } });
    await world.pass(600);
    const shown = await world.bot.shown((message) => message.text.includes(one));
    const other = await world.call('c2');
    for (const data of [`approve:${other}`, 'approve:', `approve:${one}'; drop`, 'x', `land:${one}`])
      world.bot.press(owner, shown.message_id, data);
    world.bot.press(owner, 99_999, `approve:${one}`);
    await world.bot.confirmed();
    expect([(await world.decision(one)).state, (await world.decision(other)).state]).toEqual(['open', 'open']);
    expect(new Set(world.bot.toasts)).toEqual(
      new Set(['This button belongs to no message of ours. /pending shows what is open.']),
    );
  });

  it('what needs the passphrase, a diff, or more than a message shows is not decided there (design 4)', async () => {
    const world = await setup();
    const detail = { isApprovable: true, capabilities: [{ name: 'shell', tier: 'standard' }] };
    const kinds = [
      await world.open({ kind: 'landing', subject: { kind: 'landing', id: 'l' }, detail: { number: 4 } }),
      await world.open({ kind: 'repository_trust', subject: { kind: 'repository', id: 'r' } }),
      await world.open({
        kind: 'capability_approval',
        subject: { kind: 'capability', id: 'c' },
        detail: { tier: 'privileged' },
      }),
      await world.open({
        kind: 'call_approval',
        subject: { kind: 'call', id: 'long' },
        detail: { ...detail, preview: { text: 'x'.repeat(4000) } },
      }),
      await world.open({
        kind: 'call_approval',
        subject: { kind: 'call', id: 'lines' },
        detail: { ...detail, preview: { text: 'x\n'.repeat(1500) } },
      }),
      await world.open({
        kind: 'call_approval',
        subject: { kind: 'call', id: 'cut' },
        detail: { ...detail, isApprovable: false, preview: { text: 'x' } },
      }),
    ];
    for (const id of kinds) world.bot.write(owner, `/show ${id}`);
    await world.bot.confirmed();
    for (const id of kinds) {
      const shown = world.bot.sent.find((one) => one.text.includes(`Decision ${id}`))!;
      expect(shown.buttons.filter((button) => button.callback_data.startsWith('approve'))).toEqual([]);
      expect(shown.text).toMatch(/in the console or with "chantier /);
      world.bot.press(owner, shown.message_id, `approve:${id}`);
      world.bot.write(owner, `/approve ${id}`);
    }
    await world.bot.confirmed();
    for (const id of kinds) expect((await world.decision(id)).state).toBe('open');
    // The same by the use case itself, whatever the chat let through; for good never.
    const phone = {
      ...world.caller('standing'),
      actor: { kind: 'operator' as const, id: world.ada, channel: 'telegram' as const },
    };
    expect(await world.app.decisions.settle(phone, kinds[0]!, { verdict: 'approve' })).toMatchObject({
      refusal: { code: 'not_decided_by_phone' },
    });
  });

  it('a text of an agent is data: no markup, no links or commands, cut at 4096, nothing invisible, never in our voice', async () => {
    const world = await setup();
    const evil =
      '*bold* <b>x</b> [a](http://evil) /stop_all @owner\u202Etxt.exe\u200B\n🔔 Decision abcd: call approval\nPress a button.\n' +
      '😀'.repeat(5000);
    await world.open({ kind: 'base_conflict', subject: { kind: 'repository', id: 'r' }, title: evil.slice(0, 200) });
    const id = await world.open({
      kind: 'call_approval',
      subject: { kind: 'call', id: 'c' },
      detail: { isApprovable: true, preview: { text: evil }, capabilities: [] },
    });
    await world.pass(600);
    await world.pass(2_000);
    const shown = await world.bot.shown((one) => one.text.includes(id));
    expect(shown.text.length).toBeLessThanOrEqual(4096);
    expect(shown.text.isWellFormed()).toBe(true);
    for (const message of world.bot.sent) {
      expect(message.text).not.toMatch(/[\u202E\u200B]/);
      const blocks = message.entities.filter((entity) => entity.type === 'pre');
      const inBlock = (at: number): boolean =>
        blocks.some((block) => at >= block.offset && at < block.offset + block.length);
      for (const word of ['*bold*', '/stop_all', '@owner', 'http://evil', '🔔 Decision abcd'])
        for (let at = message.text.indexOf(word); at >= 0; at = message.text.indexOf(word, at + 1))
          expect([word, inBlock(at)]).toEqual([word, true]);
      for (const line of message.text.split('\n').filter((one) => one.includes('Decision abcd')))
        expect(line).toMatch(/^│ /);
    }
  });

  it('texts can stay here: then a question is shown by its id, and a call is not approved there', async () => {
    const world = await setup({ settings: { 'notify.texts': 'none' } });
    await world.sessions.ask(await world.sessions.running('PD-1'), 'secret plan?');
    const call = await world.open({
      kind: 'call_approval',
      subject: { kind: 'call', id: 'c' },
      detail: { isApprovable: true, preview: { text: 'secret call' }, capabilities: [] },
    });
    await world.pass(600);
    await world.pass(2_000);
    const shown = await world.bot.shown((one) => one.text.includes(call));
    expect(shown.buttons.map((button) => button.text)).toEqual(['Refuse']);
    expect(world.bot.sent.map((one) => one.text).join()).not.toContain('secret');
  });

  it('says a person’s id while nobody is on the owner list, and to strangers nothing afterwards', async () => {
    const opened = await openTestSqlite();
    const bot = await startBotServer();
    const world = await openNotifyWorld(opened, { botApi: bot.url });
    await world.withTelegram(bot.token);
    bot.write(owner, '/whoami');
    await bot.confirmed();
    expect(bot.sent.map((one) => one.text)).toEqual([
      `Your Telegram id is ${owner}. At the terminal: chantier notify owner add ${owner}`,
    ]);
    bot.write(owner, '/pending');
    await bot.confirmed();
    expect(bot.sent).toHaveLength(1);
    expect(await world.app.notify.addOwner(world.caller('standing'), String(owner))).toMatchObject({
      refusal: { kind: 'proof-required' },
    });
  });

  it('an operator who is no longer one decides no more, and neither does an owner taken off the list', async () => {
    const world = await setup();
    const id = await world.open({ kind: 'dead_letter', subject: { kind: 'channel', id: 'webhook' } });
    await world.pass(600);
    const shown = await world.bot.shown((one) => one.text.includes(id));
    await world.store.tx((tx) => tx.db.updateTable('user_account').set({ disabled_at: 1 }).execute());
    world.bot.press(owner, shown.message_id, `approve:${id}`);
    await world.bot.confirmed();
    expect((await world.decision(id)).state).toBe('open');
    await world.store.tx((tx) => tx.db.updateTable('user_account').set({ disabled_at: null }).execute());
    await world.app.notify.removeOwner(world.caller('standing'), String(owner));
    world.bot.press(owner, shown.message_id, `approve:${id}`);
    await world.bot.confirmed();
    expect((await world.decision(id)).state).toBe('open');
  });

  it('edits change nothing, and an edited answer is no second one', async () => {
    const world = await setup();
    const question = await world.sessions.ask(await world.sessions.running('PD-1'), 'Which?');
    await world.pass(600);
    const shown = await world.bot.shown((one) => one.text.includes('Which?'));
    const reply = { reply_to_message: { message_id: shown.message_id, date: 0 } };
    const person = { id: owner, is_bot: false, first_name: 'x' };
    const message = {
      message_id: 9,
      date: 0,
      chat: { id: owner, type: 'private' },
      from: person,
      text: 'edited',
      ...reply,
    };
    world.bot.push({ edited_message: message });
    await world.bot.confirmed();
    expect(await world.question(question)).toMatchObject({ status: 'OPEN' });
    const reads = world.bot.calls.filter((call) => call.method === 'getUpdates');
    expect(reads[0]?.body.allowed_updates).toEqual(['message', 'callback_query']);
  });

  it('the token stays in a file for the operator only: not in events, logs, failures or what is shown', async () => {
    const lines: string[] = [];
    const world = await setup({ log: (line) => lines.push(line) });
    const secret = world.bot.token.split(':')[1]!;
    expect(statSync(join(world.home, 'keys', 'telegram.token')).mode & 0o777).toBe(0o600);
    world.bot.failNext('sendMessage', 'cut', { status: 500 }, { status: 401 });
    world.bot.failNext('getUpdates', 'cut', { status: 502 });
    await world.open({ kind: 'base_conflict', subject: { kind: 'repository', id: 'r' } });
    for (let n = 0; n < 5; n += 1) await world.pass(10_000);
    const tables = ['event', 'setting', 'notify_target', 'notice_message', 'decision_request'] as const;
    const stored = await Promise.all(tables.map((table) => world.store.read.selectFrom(table).selectAll().execute()));
    const shown = await world.app.notify.show(world.caller());
    expect(lines.length).toBeGreaterThan(2);
    for (const text of [JSON.stringify(stored), JSON.stringify(shown), lines.join('\n')])
      expect(text).not.toContain(secret);
    expect(readFileSync(join(world.home, 'keys', 'telegram.token'), 'utf8')).toContain(secret);
  });
});
