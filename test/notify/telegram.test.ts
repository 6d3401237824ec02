import { describe, expect, it } from 'vitest';

import { eachStore, openTestSqlite } from '../../src/store/testing.ts';
import { openPhone, owner } from './phone-world.ts';
import { type NotifyWorldOptions, openNotifyWorld } from './world.ts';

eachStore((_dialect, open) => {
  const setup = async () => openPhone(await open());

  it('an answer from the phone reaches the session, by the operator that the owner is mapped to (S-31, S-34, sessions case 71)', async () => {
    const world = await setup();
    const { ids } = await world.ask('PD-1', 'Which rounding?');
    await world.pass(600);
    const shown = await world.bot.shown((one) => one.text.includes('Which rounding?'));
    world.bot.write(owner, 'Half up', { reply_to_message: { message_id: shown.message_id, date: 0 } });
    await world.bot.confirmed();
    expect(await world.question(ids[0]!)).toMatchObject({
      status: 'ANSWERED',
      answer: 'Half up',
      answered_by: world.ada,
    });
    expect(await world.decisionOf(ids[0]!)).toMatchObject({ outcome: 'answered', settled_by: world.ada });
    const [event] = await world.events('decision.settled');
    expect(event).toMatchObject({ actor_kind: 'operator', actor_id: world.ada });
    await world.bot.shown((one) => one.text.includes('on its way to PD-1'));
  });

  it('two channels that answer at once: one wins, the other is told', async () => {
    const world = await setup();
    const { ids } = await world.ask('PD-1', 'Which rounding?');
    await world.pass(600);
    const shown = await world.bot.shown((one) => one.text.includes('Which rounding?'));
    const decision = await world.decisionOf(ids[0]!);
    const bob = await world.addUser('bob');
    world.bot.write(owner, 'from the phone', { reply_to_message: { message_id: shown.message_id, date: 0 } });
    const byConsole = await world.app.decisions.settle(world.caller('standing', bob), decision.id, {
      verdict: 'respond',
      text: 'from the console',
    });
    await world.bot.confirmed();
    const question = await world.question(ids[0]!);
    if (byConsole.ok) {
      expect(question.answer).toBe('from the console');
      const told = await world.bot.shown((one) => one.text.includes('already answered by bob'));
      expect(told.text).toContain('Your text was not sent');
    } else {
      expect(question.answer).toBe('from the phone');
      expect(byConsole.refusal.code).toBe('decision_closed');
    }
  });

  it('an update that comes again after a kill -9 between effect and offset decides once (design 5)', async () => {
    const world = await setup();
    const { holder, ids } = await world.ask('PD-1', 'first?');
    await world.pass(600);
    const shown = await world.bot.shown((one) => one.text.includes('first?'));
    ids.push(await world.sessions.ask(holder, 'second?'));
    const update = world.bot.write(owner, 'yes', { reply_to_message: { message_id: shown.message_id, date: 0 } });
    await world.bot.confirmed();
    await world.notifying.stop();
    // The offset was lost with the process; the store has the answer.
    await world.store.tx((tx) => tx.db.deleteFrom('setting').where('key', 'like', 'notify.telegram.%').execute());
    world.bot.replayFrom(update);
    const restarted = await openNotifyWorld(
      { store: await world.reopen(), clock: world.clock },
      { home: world.home, botApi: world.bot.url },
    );
    restarted.notifying.start();
    await world.bot.confirmed();
    expect(await world.question(ids[0]!)).toMatchObject({ answer: 'yes' });
    expect(await world.question(ids[1]!)).toMatchObject({ status: 'OPEN', answer: null });
    expect(await world.events('escalation.answered')).toHaveLength(1);
    await world.bot.shown((one) => one.text.includes('was already answered by ada'));
  });

  /** A message was taken by Telegram and the server died before it noted that: it is in the chat twice, the first unknown to us. */
  const sentTwice = async (open: (world: Awaited<ReturnType<typeof setup>>) => Promise<string>, mark: string) => {
    const world = await setup();
    world.bot.failNext('sendMessage', 'taken');
    const id = await open(world);
    await world.pass(600);
    await world.bot.shown((one) => one.text.includes(mark));
    await world.notifying.stop();
    const restarted = await openNotifyWorld(
      { store: await world.reopen(), clock: world.clock },
      { home: world.home, botApi: world.bot.url },
    );
    restarted.notifying.start();
    await restarted.pass(2_000);
    const second = await world.bot.shown((one) => one.text.includes('Sent again'));
    const [first] = world.bot.sent.filter((one) => one.text.includes(mark));
    expect(first?.message_id).not.toBe(second.message_id);
    const bot = { id: Number(world.bot.token.split(':')[0]), is_bot: true, first_name: 'bot' };
    const reply = (to: typeof second, text: string) =>
      world.bot.write(owner, text, {
        reply_to_message: { message_id: to.message_id, date: 0, from: bot, text: to.text },
      });
    return { world, id, first: first!, second, reply };
  };

  it.each([
    ['first', 'second'],
    ['second', 'first'],
  ] as const)(
    'a question that a kill -9 between sending and recording doubled is not answered twice: the %s is answered, the %s says so (S-34)',
    async (one, other) => {
      const ask = async (world: Awaited<ReturnType<typeof setup>>) =>
        (await world.ask('PD-1', 'Which rounding?')).ids[0]!;
      const { world, id, reply, ...messages } = await sentTwice(ask, 'Which rounding?');
      reply(messages[one], 'Half up');
      await world.bot.confirmed();
      expect(await world.question(id)).toMatchObject({ status: 'ANSWERED', answer: 'Half up' });
      reply(messages[other], 'Half down');
      await world.bot.confirmed();
      await world.bot.shown((shown) => shown.text.includes('was already answered by ada'));
      expect(await world.question(id)).toMatchObject({ answer: 'Half up' });
      expect(await world.events('escalation.answered')).toHaveLength(1);
    },
  );

  it.each([
    ['first', 'second'],
    ['second', 'first'],
  ] as const)(
    'a decision that was doubled so is not decided twice: the button of the %s decides, the %s says so (G-19)',
    async (one, other) => {
      const { world, id, ...messages } = await sentTwice(
        (made) => made.open({ kind: 'dead_letter', subject: { kind: 'channel', id: 'webhook' } }),
        'dead letter',
      );
      const [approve, refuse] = messages.first.buttons.map((button) => button.callback_data) as [string, string];
      world.bot.press(owner, messages[one].message_id, approve);
      await world.bot.confirmed();
      expect((await world.decision(id)).outcome).toBe('approved');
      world.bot.press(owner, messages[other].message_id, refuse);
      await world.bot.confirmed();
      await world.bot.shown((shown) => shown.text.includes('was already approved by ada'));
      expect((await world.decision(id)).outcome).toBe('approved');
    },
  );
});

describe('Telegram', () => {
  const setup = async (options?: NotifyWorldOptions) => openPhone(await openTestSqlite(), options);

  it('two questions, wrong order impossible: the oldest first, several in order by numbers (S-32, story 4)', async () => {
    const world = await setup();
    const { holder, ids } = await world.ask('PD-1', 'q one');
    await world.pass(600);
    const first = await world.bot.shown((one) => one.text.includes('q one'));
    ids.push(await world.sessions.ask(holder, 'q two'), await world.sessions.ask(holder, 'q three'));
    const later = await world.decisionOf(ids[1]!);
    // A message that shows the second alone, as if the first had been hidden.
    await world.store.tx((tx) =>
      tx.db
        .insertInto('notice_message')
        .values({
          key: 'second-alone',
          target: `telegram:${owner}`,
          notices: '[]',
          decisions: JSON.stringify([later.id]),
          state: 'sent',
          remote_id: '5000',
          created_at: tx.now,
          sent_at: tx.now,
        })
        .execute(),
    );
    world.bot.write(owner, 'answer two', { reply_to_message: { message_id: 5000, date: 0 } });
    await world.bot.confirmed();
    const oldest = await world.decisionOf(ids[0]!);
    await world.bot.shown((one) => one.text.includes(`This session asked ${oldest.id} first`));
    expect(await world.question(ids[1]!)).toMatchObject({ status: 'OPEN', answer: null });
    // What has to be answered first is shown at once, with the others behind it.
    const all = await world.bot.shown((one) => one.text.includes('q one') && one.text.includes('q three'));
    world.bot.write(owner, '1. one\n2. two\nand more\n3. three', {
      reply_to_message: { message_id: all.message_id, date: 0 },
    });
    await world.bot.confirmed();
    const answers = await Promise.all(ids.map((id) => world.question(id)));
    expect(answers.map((one) => one.answer)).toEqual(['one', 'two\nand more', 'three']);
    expect(first.text).toContain('Question from PD-1');
    for (const id of ids) {
      expect((await world.sessions.row(holder.sessionId)).state).toBe('ESCALATED');
      await world.sessions.deliver(id);
    }
    expect((await world.sessions.row(holder.sessionId)).state).toBe('RUNNING');
  });

  it('a call is approved once by its button, a stale button says who decided and when (G-19, G-22)', async () => {
    const world = await setup();
    // Settled by acknowledging: the gate's own row is not part of this test.
    const id = await world.open({ kind: 'attempts_exhausted', subject: { kind: 'channel', id: 'x' } });
    const letter = await world.open({ kind: 'dead_letter', subject: { kind: 'channel', id: 'webhook' } });
    await world.pass(600);
    await world.pass(2_000);
    const shown = await world.bot.shown((one) => one.text.includes(`Decision ${letter}`));
    expect(shown.buttons).toMatchObject([
      { text: 'Try again', callback_data: expect.stringMatching(`^approve:${letter}:[0-9a-f]{10}$`) },
      { text: 'Drop it', callback_data: expect.stringMatching(`^refuse:${letter}:[0-9a-f]{10}$`) },
    ]);
    world.bot.press(owner, shown.message_id, `approve:${letter}`);
    await world.bot.confirmed();
    expect(await world.decision(letter)).toMatchObject({
      state: 'settled',
      outcome: 'approved',
      settled_by: world.ada,
    });
    world.bot.press(owner, shown.message_id, `refuse:${letter}`);
    await world.bot.confirmed();
    expect(world.bot.toasts.at(-1)).toMatch(
      new RegExp(`^Decision ${letter} was already approved by ada at \\d+ Jan \\d\\d:\\d\\d`),
    );
    expect(await world.decision(id)).toMatchObject({ state: 'open' });
  });

  it('/pending and /help answer, wrong usage says what is right (G-19)', async () => {
    const world = await setup();
    const id = await world.open({ kind: 'base_conflict', subject: { kind: 'repository', id: 'r' } });
    for (const text of ['/pending', '/help', '/approve', '/approve nope', 'hello', '/unknown'])
      world.bot.write(owner, text);
    await world.bot.confirmed();
    const texts = world.bot.sent.map((one) => one.text);
    expect(texts).toEqual(
      expect.arrayContaining([
        expect.stringContaining(`${id} · base conflict`),
        'Usage: /approve <id>; /pending lists the ids.',
        'unknown id nope',
      ]),
    );
  });

  it('waits as long as Telegram asks, backs off from errors, and loses nothing over a cut', async () => {
    const world = await setup();
    world.bot.failNext('sendMessage', { status: 429, retryAfter: 30 }, 'cut', { status: 500 });
    const id = await world.open({ kind: 'base_conflict', subject: { kind: 'repository', id: 'r' } });
    const sends = (): number => world.bot.calls.filter((call) => call.method === 'sendMessage').length;
    await world.pass(600);
    await world.pass(20_000);
    expect(sends()).toBe(1);
    for (const ms of [10_000, 2_000, 3_000]) await world.pass(ms);
    expect(sends()).toBe(4);
    expect(world.bot.sent.filter((one) => one.text.includes(id))).toHaveLength(1);
  });

  it('another reader of the same bot is said in words (409), and the channel recovers by itself', async () => {
    const world = await setup();
    world.bot.write(owner, '/help');
    await world.bot.confirmed();
    const before = (await world.events('notify.failing')).length;
    world.bot.failNext('getUpdates', { status: 409 });
    world.bot.write(owner, '/help');
    const failing = async (): Promise<string> => {
      const shown = await world.app.notify.show(world.caller());
      return shown.ok ? (shown.value.channels.find((one) => one.target === 'telegram')?.message ?? '') : '';
    };
    await expect.poll(failing, { timeout: 5_000, interval: 20 }).toContain('Another program reads');
    world.clock.advance(5_000);
    await world.bot.confirmed();
    expect((await world.events('notify.failing')).length).toBe(before);
  });
});
