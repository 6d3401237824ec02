/** Writes `docs/reference/`: CLI, API, rights and settings as the program itself describes them. */
import { mkdirSync, writeFileSync } from 'node:fs';

import { referenceFiles } from '../test/docs/reference.ts';

mkdirSync('docs/reference', { recursive: true });
for (const [file, content] of await referenceFiles()) {
  writeFileSync(file, content);
  console.log(file);
}
