import { commands, describeCli, exitCodes } from '../../../src/cli/index.ts';
import { code, type Page, page, table } from './page.ts';

/** Every verb with its help as it is printed, and the exit codes. */
export async function cliPage(): Promise<Page> {
  return page(
    'docs/reference/cli.md',
    'Commands',
    'Every verb takes `--json`: then exactly one line with one JSON document goes to stdout, and progress to stderr. `CHANTIER_HOME` names the instance (default `~/.chantier`).',
    table(
      ['Group', 'Verb', 'What it does'],
      Object.entries(commands).map(([verb, { group, summary }]) => [
        group,
        `[${code(verb)}](#chantier-${verb})`,
        summary,
      ]),
    ),
    table(['Exit code', 'Meaning'], Object.entries(exitCodes)),
    await describeCli(),
  );
}
