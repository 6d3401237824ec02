// Headless Claude Code whose MCP servers do not start.
import { serve } from './claude-base.mjs';

serve(() => undefined, { mcp_set_servers: () => ({ added: [], removed: [], errors: { chantier: 'spawn ENOENT' } }) });
