// Headless Claude Code of a version that acknowledges a permission mode without saying which one it is in.
import { serve } from './claude-base.mjs';

serve(() => undefined, { set_permission_mode: () => ({}) });
