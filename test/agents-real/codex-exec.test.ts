import { realAgents } from './agents.ts';
import { describeAgent } from './describe-agent.ts';

describeAgent('codex exec', realAgents.codexExec, true);
