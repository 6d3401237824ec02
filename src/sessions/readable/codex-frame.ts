import { cut, type Frame, frameOf, type ReadableEntry, textOf } from './frame.ts';

const maxResult = 4_000;

/** A line of `codex exec --json` (or of our runner around it) as entries; `undefined` when it is none. */
export function readCodexFrame(frame: Frame): ReadableEntry[] | undefined {
  switch (frame.type) {
    case 'item.completed':
      return readItem(frameOf(frame.item));
    case 'turn.completed':
      return [{ kind: 'turn', text: 'end_turn' }];
    case 'turn.failed':
      return [{ kind: 'turn', text: textOf(frameOf(frame.error).message) || 'failed' }];
    case 'error':
      return [{ kind: 'notice', text: textOf(frame.message) }];
    default:
      return /^(thread|turn|item|chantier)\./.test(textOf(frame.type)) ? [] : undefined;
  }
}

function readItem(item: Frame): ReadableEntry[] {
  switch (item.type) {
    case 'agent_message':
      return [{ kind: 'agent', text: textOf(item.text) }];
    case 'reasoning':
      return [{ kind: 'thought', text: textOf(item.text) }];
    case 'command_execution': {
      const output = textOf(item.aggregated_output);
      return [
        { kind: 'tool', text: `${textOf(item.command)} (exit ${String(item.exit_code ?? '?')})` },
        ...(output === '' ? [] : [{ kind: 'result' as const, text: cut(output, maxResult) }]),
      ];
    }
    case 'error':
      return [{ kind: 'notice', text: textOf(item.message) }];
    default:
      return typeof item.type === 'string' ? [{ kind: 'tool', text: item.type }] : [];
  }
}
