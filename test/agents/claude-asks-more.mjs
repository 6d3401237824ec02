// Headless Claude Code that asks for what nobody serves, then lets an MCP server ask by a form.
import { ask, init, replay, result, say, serve } from './claude-base.mjs';

serve(async (prompt) => {
  init();
  replay(prompt);
  const hook = await ask({ subtype: 'hook_callback', callback_id: 'x' });
  const schema = { type: 'object', properties: { name: { type: 'string' } } };
  const form = await ask({ subtype: 'elicitation', mcp_server_name: 'x', message: 'Who?', requested_schema: schema });
  say(JSON.stringify([hook, form]));
  result(prompt);
});
