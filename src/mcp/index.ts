import type { serveAgent as ServeAgent } from './serve-agent.ts';

export type { ServeAgentOptions } from './serve-agent.ts';
export type { AgentRole, AgentTool } from './tools.ts';
export { toolsOf } from './tools.ts';

/** Serves the tools of one session over stdio. Loaded when it is called: the server needs only the list of tools. */
export const serveAgent: typeof ServeAgent = async (options) => (await import('./serve-agent.ts')).serveAgent(options);
