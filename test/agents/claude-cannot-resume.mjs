// Headless Claude Code that knows no such conversation: a result before anything else, then exit 1.
import { result, sessionId } from './claude-base.mjs';

const message = `No conversation found with session ID: ${sessionId}`;
result(undefined, { subtype: 'error_during_execution', is_error: true, result: undefined, errors: [message] });
process.exitCode = 1;
