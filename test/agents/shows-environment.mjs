// Writes the names of its environment into its home, and then says nothing. `--version` is answered, as runners ask for it.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';

if (process.argv.includes('--version')) {
  console.log('9.9.9');
} else {
  writeFileSync(join(process.env.HOME, 'environment.json'), JSON.stringify(process.env));
  process.stdin.resume();
  setInterval(() => {}, 60_000);
}
