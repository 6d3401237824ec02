// Headless Claude Code whose model never answers: a prompt is queued, and an interrupt takes it out of the queue before it
// was taken up, so that no result ever comes for it.
import { send, serve } from './claude-base.mjs';

let queued = [];
const lifecycle = (uuid, state) => send({ type: 'command_lifecycle', command_uuid: uuid, state });

serve(
  (prompt) => {
    queued.push(prompt.uuid);
    lifecycle(prompt.uuid, 'queued');
  },
  {
    interrupt: ({ cancel_queued: all }) => {
      const cancelled = all ? queued : [];
      queued = [];
      for (const uuid of cancelled) lifecycle(uuid, 'cancelled');
      return { still_queued: [], cancelled };
    },
  },
);
