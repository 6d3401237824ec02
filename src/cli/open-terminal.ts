import type { CliTerminal } from './io.ts';

/** The terminal of this process, where stdin and stdout are one. */
export function openTerminal(): CliTerminal | undefined {
  const { stdin, stdout } = process;
  if (!stdin.isTTY || !stdout.isTTY) return undefined;
  return {
    size: () => ({ cols: stdout.columns || 80, rows: stdout.rows || 24 }),
    onResize(look) {
      stdout.on('resize', look);
      return () => void stdout.off('resize', look);
    },
    readKeys(take) {
      const wasRaw = stdin.isRaw;
      stdin.setRawMode(true);
      stdin.on('data', take);
      stdin.resume();
      return () => {
        stdin.off('data', take);
        stdin.setRawMode(wasRaw);
        stdin.pause();
      };
    },
  };
}
