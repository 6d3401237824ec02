import type { Generation, JournalReader } from '../../host/index.ts';
import type { AcpConversation } from './acp-conversation.ts';
import { parseFrame } from './rpc-frame.ts';

/** How much of a line is looked at to pass it over. */
const headBytes = 400;

/**
 * Rebuilds a conversation from the two files (decision 6): everything that was said to the agent, and what it said up to
 * `consumedTo`, whose events are applied already. Answers a reader that goes on from there.
 */
export async function replayFiles(
  generation: Generation,
  conversation: AcpConversation,
  consumedTo: number,
): Promise<JournalReader> {
  await generation.claimInbox();
  const inbox = await generation.readInbox();
  await eachLine(inbox, Infinity, (bytes) => conversation.sent(parseFrame(bytes)));
  await inbox.close();
  const limit = Math.min(consumedTo, generation.latch()?.journalOffset ?? Infinity);
  const journal = await generation.readJournal();
  await eachLine(journal, limit, (bytes, start) => {
    if (!isInertUpdate(bytes)) conversation.received(parseFrame(bytes), start);
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

/** Most of a journal is updates that change nothing once their events are applied; parsing them would make adoption slow. */
function isInertUpdate(bytes: Buffer): boolean {
  const head = bytes.toString('latin1', 0, headBytes);
  return (
    head.includes('"method":"session/update"') &&
    /"sessionUpdate":"(?:agent_message_chunk|agent_thought_chunk|user_message_chunk|tool_call|usage_update)/.test(head)
  );
}
