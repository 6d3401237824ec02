// Starts in mode "auto", says yes to another mode and stays in "auto".
import { serve, update } from './acp-base.mjs';

serve({
  'session/set_mode': ({ sessionId }) => {
    update(sessionId, { sessionUpdate: 'current_mode_update', currentModeId: 'auto' });
    return {};
  },
});
