import { join } from 'node:path';

import { expect, onTestFinished, test } from 'vitest';

import { openCrew } from '../e2e/crew.ts';
import { startBotServer } from '../notify/bot-server.ts';
import { makeMakeRepository } from '../repositories/index.ts';

const owner = 77;

test('the server is killed after an answer from the phone was taken and before Telegram heard of it: one answer, and the work goes on (S-34, S-35)', async () => {
  const bot = await startBotServer();
  const crew = await openCrew({ CHANTIER_TELEGRAM_API: bot.url });
  onTestFinished(() => crew.dispose());
  const set = await crew.send('PUT', '/api/notify/telegram', { token: bot.token }, { proof: true });
  expect(set.status).toBe(200);
  expect((await crew.send('PUT', `/api/notify/owners/${owner}`, {}, { proof: true })).status).toBe(200);

  const steps = [
    ['ask', 'Which greeting?'],
    ['write', 'greeting.txt', 'hello\n'],
    ['commit', 'Greet'],
    ['done', 'greeted'],
  ] as const;
  const repository = makeMakeRepository(join(crew.root, 'phone'));
  const run = await crew.run(
    repository,
    crew.request(
      'Greet',
      steps.map((step) => [...step]),
    ),
  );
  const shown = await bot.shown((message) => message.text.includes('Which greeting?'));

  // What the bot says of the taken answer is cut: it is tried again a few times, and meanwhile the server dies.
  bot.failNext('sendMessage', 'cut', 'cut', 'cut');
  const update = bot.write(owner, 'hello', { reply_to_message: { message_id: shown.message_id, date: 0 } });
  await crew.until('the answer to be taken', async () => (await crew.events('escalation.answered')).length === 1);
  await crew.kill('SIGKILL');
  bot.replayFrom(update);
  await crew.up();

  await bot.confirmed();
  await crew.decision(run, 'landing', 60_000);
  const answers = await crew.events('escalation.answered');
  expect(answers).toHaveLength(1);
  expect(answers[0]?.actor.kind).toBe('operator');
  await bot.shown((message) => message.text.includes('was already answered'));
  await bot.shown((message) => message.text.includes('landing') && message.text.includes('Not decided here'));
}, 180_000);
