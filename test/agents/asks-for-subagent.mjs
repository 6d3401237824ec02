// Two permissions at once: of the conversation itself, and of a subagent under a conversation id of its own. The turn ends when
// both are answered, and says how.
import { ask, permissionOptions, say, serve } from './acp-base.mjs';

serve({
  'session/prompt': async ({ sessionId }) => {
    const chosen = await Promise.all(
      [sessionId, `${sessionId}/subagent`].map((id, at) =>
        ask('session/request_permission', {
          sessionId: id,
          toolCall: {
            toolCallId: `call-${at}`,
            title: `Step ${at}`,
            kind: 'execute',
            rawInput: { command: `step ${at}` },
          },
          options: permissionOptions,
        }),
      ),
    );
    say(sessionId, chosen.map(({ outcome }) => outcome.optionId ?? outcome.outcome).join(' '));
    return { stopReason: 'end_turn' };
  },
});
