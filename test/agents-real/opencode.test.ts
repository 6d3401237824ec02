import { test } from 'vitest';

import { realAgents } from './agents.ts';
import { describeAgent, isFull } from './describe-agent.ts';

if (isFull) describeAgent('OpenCode', realAgents.opencode);
else test.skip('OpenCode (n/a: it takes 10 s to start; run with --full)');
