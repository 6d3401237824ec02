import { systemClock } from '../../../kernel/index.ts';
import type { AttachOptions, Driver, DriverSink } from '../driver.ts';
import type { Generation } from '../../host/index.ts';
import { CommandLink } from './command-link.ts';

/**
 * Any program over plain pipes. It reports by `chantier mcp` or its environment; its output is shown and proves nothing, and
 * exit code 0 without an explicit report is no success (decision 5). Terminals (`tty: true`) are not served here.
 */
export const commandDriver: Driver = { kind: 'command', attach };

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
