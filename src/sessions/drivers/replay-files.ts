import type { Generation, JournalReader } from '../host/index.ts';
import type { Conversation } from './conversation.ts';

/**
 * Rebuilds a conversation from the two files (decision 6): everything that was said to the agent, and what it said up to
 * `consumedTo`, whose events are applied already. Answers a reader that goes on from there.
 */
export async function replayFiles<Frame>(
  generation: Generation,
  conversation: Conversation<Frame>,
  consumedTo: number,
): Promise<JournalReader> {
  await generation.claimInbox();
  const inbox = await generation.readInbox();
  await eachLine(inbox, Infinity, (bytes) => conversation.sent(conversation.parse(bytes)));
  await inbox.close();
  const limit = Math.min(consumedTo, generation.latch()?.journalOffset ?? Infinity);
  const journal = await generation.readJournal();
  await eachLine(journal, limit, (bytes, start) => {
    if (!conversation.isInert(bytes)) conversation.received(conversation.parse(bytes), start);
  });
  await journal.close();
  return generation.readJournal(consumedTo);
}

async function eachLine(
  reader: JournalReader,
  until: number,
  take: (bytes: Buffer, start: number) => void,
): Promise<void> {
  for (let line = await reader.next(); line && line.end <= until; line = await reader.next())
    if (line.kind === 'line') take(line.bytes, line.start);
}
