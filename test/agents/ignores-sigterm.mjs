// Ends neither with its stdin, nor with a cancel, nor with SIGTERM.
import { serve } from './acp-base.mjs';

process.on('SIGTERM', () => {});
serve({ 'session/prompt': () => new Promise(() => {}) }, { onEnd: () => setInterval(() => {}, 1_000) });
