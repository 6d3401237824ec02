import { systemClock } from '../../src/kernel/index.ts';
import { sessionWorld } from '../../src/sessions/testing.ts';
import { checkMessages } from '../../src/sessions/index.ts';
import { openSqlite } from '../../src/store/index.ts';

/**
 * A server that hands messages out and then waits to be killed: `takes-messages.ts DATABASE SESSION`. Says what it handed out on
 * one line of stdout.
 */
const [database = '', session = ''] = process.argv.slice(2);
const store = await openSqlite(database, { clock: systemClock });
const { ctx } = sessionWorld(store);
const holder = { sessionId: session as never, generation: 1, role: 'author' as const, workKey: 'PD-1', taskId: null };
const messages = await checkMessages(ctx, holder);
process.stdout.write(`${JSON.stringify(messages)}\n`);
setInterval(() => {}, 60_000);
