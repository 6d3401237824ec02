/** `npm run docs`: writes every page that is made from the program, the tests or the installed packages. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

import { buildCoverage, renderCoverage } from '../test/docs/coverage-map.ts';
import { generatedPages } from '../test/docs/generated-pages.ts';

for (const { file, content } of await generatedPages()) write(file, content);

const { rows, faults } = buildCoverage();
write('docs/coverage.md', renderCoverage(rows));
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.exitCode = faults.length === 0 ? 0 : 1;

function write(file: string, content: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, content);
  process.stdout.write(`${file}\n`);
}
