import { systemClock } from '../../../kernel/index.ts';
import type { AttachOptions, Driver, DriverSink } from '../driver.ts';
import type { Generation } from '../../host/index.ts';
import { CommandLink } from './command-link.ts';

/**
 * Any program, over plain pipes or (`tty`) at a terminal that its host keeps (ADR 0030). It gets its brief at the start, where
 * its command says `{prompt}` and in `CHANTIER_PROMPT`; nothing is typed into it but by a human. It reports by `chantier mcp` or its environment; its output is shown and proves nothing, and
 * exit code 0 without an explicit report is no success (decision 5).
 */
export const commandDriver: Driver = {
  kind: 'command',
  commandFor: ({ command }, { prompt = '' }) => command.map((word) => word.replaceAll(promptMark, () => prompt)),
  attach,
};

/** Where a command wants the brief. */
const promptMark = '{prompt}';

async function attach(generation: Generation, options: AttachOptions, sink: DriverSink): Promise<CommandLink> {
  const link = new CommandLink({
    generation,
    reader: await generation.readJournal(options.consumedTo ?? 0),
    sink,
    clock: options.clock ?? systemClock,
    profile: options.profile,
    isFresh: (options.consumedTo ?? 0) === 0,
  });
  await link.start();
  return link;
}
