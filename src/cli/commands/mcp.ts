import type { Command } from 'commander';

import type { CliContext } from '../context.ts';

export function define(command: Command, context: CliContext): void {
  context.action(command, async () => {
    const { serveAgent } = await import('../../mcp/index.ts');
    await serveAgent({ env: context.io.env, signal: context.io.signal });
    return { json: null, text: '' };
  });
}
