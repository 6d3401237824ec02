import { realAgents } from './agents.ts';
import { describeAgent } from './describe-agent.ts';

describeAgent('Gemini CLI', realAgents.gemini);
