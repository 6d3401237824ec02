import { execFile } from 'node:child_process';
import { mustOk } from '../../src/kernel/index.ts';
import { deliver, judge, openWorld, type Step, type World } from './world.ts';

const half: Step[] = [
  ['write', 'agent.txt', 'by the agent\n'],
  ['commit', 'By the agent'],
  ['say', 'now I hang'],
  ['hang'],
];

/** A world in which an author hangs in its first turn and does `then` in the next. */
export async function openWheel(then: Step[] = deliver('rest.txt', 'rest\n'), first: Step[] = half) {
  const world = await openWorld();
  const run = await world.run(world.checkout(), 'Greet', { author: [first, then], reviewer: [judge('rest.txt')] });
  const session = await world.session(run, 'author', (one) => one.state === 'RUNNING');
  await world.until('the turn to hang', async () => (await world.said(session.id)).includes('now I hang'));
  return { world, run, session };
}

/** Types `words` into the shell of a terminal, as a human does. */
export async function typeInto(world: World, session: string, words: string): Promise<string> {
  const terminal = mustOk(
    await world.app.sessions.openTerminal(world.caller(), session, { shell: true, term: 'xterm' }),
  );
  return enter(terminal.command, words);
}

export function enter([program = '', ...args]: readonly string[], words: string): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(program, args, (_error, stdout, stderr) => resolve(stdout + stderr));
    // One that may not be opened reads nothing.
    child.stdin!.on('error', () => {});
    child.stdin!.end(words);
  });
}

/** What a human types to commit one file. */
export const commit = (file: string, subject: string): string =>
  `echo human > ${file} && git add -A && git commit -q -m '${subject}' && git log -1 --format='%an <%ae>'\n`;

/** A session as stored. */
export function rowOf(world: World, id: string) {
  return world.ctx.store.read.selectFrom('session').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
}

/** Its conversation. */
export async function conversationOf(world: World, id: string): Promise<string | null> {
  return (await rowOf(world, id)).conversation_id;
}

/** What the agent was told, in the order in which it got it. */
export async function promptsOf(world: World, id: string): Promise<string[]> {
  const rows = await world.ctx.store.read
    .selectFrom('prompt')
    .select('text')
    .where('session_id', '=', id)
    .where('sent_at', 'is not', null)
    .orderBy('sent_at')
    .execute();
  return rows.map((row) => row.text);
}
