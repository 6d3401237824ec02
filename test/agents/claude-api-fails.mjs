// Headless Claude Code whose model API refuses: tries again once, then ends the turn with the prompt's JSON as members of a
// result that says "success" and means an error.
import { init, replay, result, send, serve, textOf } from './claude-base.mjs';

serve((prompt) => {
  const members = JSON.parse(textOf(prompt));
  init();
  const retry = { attempt: 1, max_retries: 2, retry_delay_ms: 1, error_status: members.api_error_status, error: 'x' };
  send({ type: 'system', subtype: 'api_retry', ...retry });
  replay(prompt);
  if (members.event) send({ type: 'rate_limit_event', rate_limit_info: members.event });
  result(prompt, { is_error: true, terminal_reason: 'api_error', stop_reason: 'stop_sequence', ...members });
});
