// Starts and never answers `initialize`: a peer that is never seen.
import { serve } from './acp-base.mjs';

serve({ initialize: () => new Promise(() => {}) });
