import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';

import type { Refusal } from '../kernel/index.ts';
import { callBound, createCallMeter } from './call-bounds.ts';
import { problemOf, problemType } from './problem.ts';

/** How long a request over the bound is held before its refusal: a loop without pauses costs the server next to nothing. */
const heldMs = 1000;
/** Requests held at one door; more lose their connection. */
const maxHeld = 32;

/** The refusal of a call that came too soon after too many. */
export function tooManyCalls(waitS: number): Refusal {
  return {
    kind: 'quota',
    code: 'too_many_calls',
    message: `This session has called too often; wait ${waitS} s, then call again. Report what matters, not each step.`,
    facts: { retry_after_s: waitS },
  };
}

/**
 * Bounds the requests at one session's door before anything of them is read (design section 4): over the bound they are held,
 * then refused with 429 and `retry-after`, so that one agent cannot starve the others. `onFlood` is called once a minute.
 */
export function boundCalls(listener: RequestListener, onFlood: () => void): RequestListener {
  const meter = createCallMeter(callBound);
  let held = 0;
  return (request, response) => {
    const waitS = meter.take();
    if (waitS === 0) return listener(request, response);
    if (meter.isWorthTelling()) onFlood();
    if (held >= maxHeld) return void request.socket.destroy();
    held += 1;
    const timer = setTimeout(() => refuse(response, waitS), heldMs);
    response.once('close', () => {
      held -= 1;
      clearTimeout(timer);
    });
    skipBody(request);
  };
}

function refuse(response: ServerResponse, waitS: number): void {
  const problem = problemOf(tooManyCalls(waitS));
  const headers = { 'content-type': problemType, 'retry-after': String(waitS), connection: 'close' };
  response.writeHead(problem.status, headers).end(JSON.stringify(problem));
}

/** Nobody reads it; without a reader the connection would stand still. */
function skipBody(request: IncomingMessage): void {
  request.on('error', () => {});
  request.resume();
}
