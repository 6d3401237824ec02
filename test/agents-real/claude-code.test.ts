import { realAgents } from './agents.ts';
import { describeAgent } from './describe-agent.ts';

describeAgent('Claude Code headless', realAgents.claudeHeadless, true);
