/** Writes `docs/coverage.md` from the tests' titles and `docs/coverage.yml`; says what is missing. */
import { writeFileSync } from 'node:fs';

import { buildCoverage, renderCoverage } from '../test/docs/coverage-map.ts';

const { rows, faults } = buildCoverage();
writeFileSync('docs/coverage.md', renderCoverage(rows));
for (const fault of faults) process.stderr.write(`${fault}\n`);
process.stdout.write(`${rows.length} numbers, ${faults.length} faults\n`);
process.exitCode = faults.length === 0 ? 0 : 1;
