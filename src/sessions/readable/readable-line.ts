import { readAcpFrame } from './acp-frame.ts';
import { readClaudeFrame } from './claude-frame.ts';
import { readCodexFrame } from './codex-frame.ts';
import { type Frame, frameOf, type ReadableEntry, textOf } from './frame.ts';
import { stripControls } from './strip-controls.ts';

/**
 * What a line of a journal tells a reader: none, one or more entries. Told by the line alone, whatever driver wrote it, so that
 * any page can be read by itself. Text stays as the agent wrote it; whoever shows it makes it harmless.
 */
export function readableEntries(line: string): ReadableEntry[] {
  try {
    return read(line);
  } catch (error) {
    // Input nested so deep that it cannot be written as text again.
    if (error instanceof RangeError) return [{ kind: 'output', text: stripControls(line) }];
    throw error;
  }
}

function read(line: string): ReadableEntry[] {
  const frame = parse(line);
  if (!frame) return line.trim() === '' ? [] : [{ kind: 'output', text: stripControls(line) }];
  if (frame.jsonrpc === '2.0') return readAcpFrame(frame);
  if (typeof frame.pty === 'string') return readTerminalFrame(frame);
  return readClaudeFrame(frame) ?? readCodexFrame(frame) ?? [{ kind: 'output', text: stripControls(line) }];
}

/** A program at a terminal: its words without what moves the cursor; the screen itself is `attach`'s. */
function readTerminalFrame(frame: Frame): ReadableEntry[] {
  if (frame.pty === 'out') {
    const text = stripControls(textOf(frame.text));
    return text === '' ? [] : [{ kind: 'output', text, continues: true }];
  }
  if (frame.pty !== 'exit') return [];
  const how = frame.signal ? `signal ${String(frame.signal)}` : `code ${String(frame.code)}`;
  return [{ kind: 'notice', text: `the program ended with ${how}` }];
}

function parse(line: string): Frame | undefined {
  if (!line.startsWith('{')) return undefined;
  try {
    return frameOf(JSON.parse(line));
  } catch {
    return undefined;
  }
}
