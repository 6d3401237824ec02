export type { ServeAgentOptions } from './serve-agent.ts';
export { serveAgent } from './serve-agent.ts';
export type { AgentRole, AgentTool } from './tools.ts';
export { toolsOf } from './tools.ts';
