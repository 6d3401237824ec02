// Answers `initialize` and then never opens a conversation: seen, but without first liveness.
import { serve } from './acp-base.mjs';

serve({ 'session/new': () => new Promise(() => {}) });
