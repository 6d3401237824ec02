// Ends neither with its stdin nor with a cancel, but with exit code 0 on SIGTERM, as Gemini and claude-agent-acp do.
import { serve } from './acp-base.mjs';

process.on('SIGTERM', () => process.exit(0));
serve({ 'session/prompt': () => new Promise(() => {}) }, { onEnd: () => setInterval(() => {}, 1_000) });
