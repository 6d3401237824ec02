import { realAgents } from './agents.ts';
import { describeAgent } from './describe-agent.ts';

describeAgent('claude-agent-acp', realAgents.claude);
