// Headless Claude Code that says yes to a permission mode and stays in another.
import { serve } from './claude-base.mjs';

serve(() => undefined, { set_permission_mode: () => ({ mode: 'auto' }) });
