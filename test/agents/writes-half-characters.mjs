// Cuts texts in the middle of a character, as careless programs do: halves of pairs in a permission, a question's form and its end.
import { ask, permissionOptions, serve } from './acp-base.mjs';

const half = 'cut \ud83d';

serve({
  async 'session/prompt'(params) {
    await ask('session/request_permission', {
      sessionId: params.sessionId,
      toolCall: { toolCallId: 'call-1', title: half, kind: 'execute', rawInput: { command: half, [half]: 1 } },
      options: permissionOptions,
    });
    return { stopReason: half };
  },
});
