import { startWrapped, type WrappedCommand } from '../../src/sandbox/index.ts';

/** Starts the wrapped command on its command line and lives on, to be killed. Says so once the command has said something. */
const child = startWrapped(JSON.parse(process.argv[2]!) as WrappedCommand);
child.stdout!.once('data', () => process.stdout.write('up\n'));
setInterval(() => {}, 1_000);
