import type { Command } from 'commander';

import { pathsOf } from '../config/index.ts';
import { commands } from './command-table.ts';
import { createContext } from './context.ts';
import type { CliIo } from './io.ts';
import { addCommonOptions, newProgram } from './run-cli.ts';

/** Width that help texts are written for, wherever they are printed. */
const columns = 100;

/** The help of every verb as Markdown: what `docs/reference/cli.md` holds. */
export async function describeCli(): Promise<string> {
  const io: CliIo = {
    env: {},
    cwd: '/',
    out: () => {},
    err: () => {},
    readStdin: async () => '',
    hasTerminal: () => false,
    signal: new AbortController().signal,
  };
  const context = createContext(io, pathsOf('/home/you/.chantier'), () => {});
  const sections: string[] = [];
  for (const [name, entry] of Object.entries(commands)) {
    const command = newProgram(io).command(name).description(entry.summary);
    (await entry.load()).define(command, context);
    addCommonOptions(command);
    sections.push(...sectionsOf(command, `chantier ${name}`, 2));
  }
  return `${sections.join('\n\n')}\n`;
}

function sectionsOf(command: Command, path: string, level: number): string[] {
  command.configureHelp({ helpWidth: columns });
  const own = `${'#'.repeat(level)} ${path}\n\n\`\`\`text\n${command.helpInformation().trimEnd()}\n\`\`\``;
  return [
    own,
    ...command.commands.flatMap((child) =>
      child.name() === 'help' ? [] : sectionsOf(child, `${path} ${child.name()}`, level + 1),
    ),
  ];
}
