// A plain program: prints what it finds about its start, repeats the lines it reads, and exits 0 when its input ends.
import { readdirSync } from 'node:fs';
import { createInterface } from 'node:readline';

console.log(
  JSON.stringify({
    env: process.env,
    cwd: process.cwd(),
    umask: process.umask(),
    fds: readdirSync('/proc/self/fd').map(Number),
  }),
);
process.stderr.write('to stderr\n');
createInterface({ input: process.stdin }).on('line', (line) => console.log(`read ${line}`));
