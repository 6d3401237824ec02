import { test } from 'vitest';

import { realAgents } from './agents.ts';
import { describeAgent, isFull } from './describe-agent.ts';

if (isFull) describeAgent('Copilot CLI', realAgents.copilot);
else test.skip('Copilot CLI (n/a: 200 MB to install; run with --full)');
