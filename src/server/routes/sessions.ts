import { z } from 'zod';

import {
  answerBatch,
  answeredBatchView,
  answerRequest,
  escalationQuery,
  escalationView,
  haltRequest,
  handbackRequest,
  handedBackView,
  pageOf,
  reasonRequest,
  keyboardRequest,
  keyboardView,
  keysRequest,
  keysView,
  searchPage,
  searchQuery,
  sessionFolderView,
  sessionName,
  sessionQuery,
  sessionView,
  startRequest,
  statusView,
  stoppedAllView,
  takeoverRequest,
  takeoverView,
  tellRequest,
  terminalRequest,
  terminalView,
  terminalPage,
  terminalQuery,
  toldView,
  transcriptPage,
  transcriptQuery,
} from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';

const params = z.object({ session: sessionName });

/** The seven commands (S-14), and tell, logs and halt beside them. */
export function addSessionRoutes(api: Api, parts: ApiParts): void {
  addTheSeven(api, parts);
  addWheel(api, parts);
  const { sessions } = parts.app;
  addRoute(
    api,
    parts,
    'GET /api/sessions',
    { summary: 'List sessions', query: sessionQuery, answer: pageOf(sessionView) },
    ({ caller, query }) => sessions.list(caller, query),
  );
  addRoute(
    api,
    parts,
    'GET /api/sessions/{session}',
    { summary: 'Show a session', params, answer: sessionView },
    (input) => sessions.show(input.caller, input.params.session),
  );
  addRoute(
    api,
    parts,
    'POST /api/sessions/{session}/messages',
    { summary: 'Tell a session something', params, body: tellRequest, answer: toldView },
    (input) => sessions.tell(input.caller, input.params.session, input.body),
  );
  addReading(api, parts);
  addRoute(
    api,
    parts,
    'PUT /api/halt',
    { summary: 'Stop everything: dispatch, landing, outbox, every process', body: haltRequest, answer: stoppedAllView },
    ({ caller, body }) => sessions.stopAll(caller, body.reason),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/halt',
    { summary: 'Let dispatch, landing and outbox go on', answer: z.object({ halted: z.boolean() }) },
    ({ caller }) => sessions.goOn(caller),
  );
}

/** What shows a session's work. */
function addReading(api: Api, parts: ApiParts): void {
  const { sessions } = parts.app;
  addRoute(
    api,
    parts,
    'GET /api/search',
    {
      summary: 'Look through texts and transcripts, a bounded share for each call',
      query: searchQuery,
      answer: searchPage,
    },
    ({ caller, query }) => sessions.search(caller, query),
  );
  addRoute(
    api,
    parts,
    'GET /api/sessions/{session}/transcript',
    {
      summary: 'Read the transcript of a session, a page at a time',
      params,
      query: transcriptQuery,
      answer: transcriptPage,
    },
    (input) => sessions.transcript(input.caller, input.params.session, input.query),
  );
  addRoute(
    api,
    parts,
    'GET /api/sessions/{session}/terminal',
    { summary: 'Read what a program shows at its terminal', params, query: terminalQuery, answer: terminalPage },
    (input) => sessions.terminal(input.caller, input.params.session, input.query),
  );
  addRoute(
    api,
    parts,
    'PUT /api/sessions/{session}/terminal/keyboard',
    { summary: 'Take the keyboard of a program at a terminal', params, body: keyboardRequest, answer: keyboardView },
    (input) => sessions.takeKeyboard(input.caller, input.params.session, input.body),
  );
  addRoute(
    api,
    parts,
    'POST /api/sessions/{session}/terminal/keys',
    { summary: 'Type at the terminal of a program', params, body: keysRequest, answer: keysView },
    (input) => sessions.typeKeys(input.caller, input.params.session, input.body),
  );
  addRoute(
    api,
    parts,
    'GET /api/sessions/{session}/folder',
    { summary: 'Say where a session works', params, answer: sessionFolderView },
    (input) => sessions.folder(input.caller, input.params.session),
  );
}

/** Humans at the wheel (design section 7). */
function addWheel(api: Api, parts: ApiParts): void {
  const { sessions } = parts.app;
  addRoute(
    api,
    parts,
    'PUT /api/sessions/{session}/takeover',
    {
      summary: 'Take the wheel: the agent is ended, the session waits',
      params,
      body: takeoverRequest,
      answer: takeoverView,
    },
    (input) => sessions.takeOver(input.caller, input.params.session, input.body),
  );
  addRoute(
    api,
    parts,
    'POST /api/sessions/{session}/takeover/terminals',
    {
      summary: 'Prepare a terminal in the sandbox of a taken-over session',
      params,
      body: terminalRequest,
      answer: terminalView,
      status: 201,
    },
    (input) => sessions.openTerminal(input.caller, input.params.session, input.body),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/sessions/{session}/takeover',
    { summary: 'Hand a session back to its agent', params, body: handbackRequest, answer: handedBackView },
    (input) => sessions.handBack(input.caller, input.params.session, input.body),
  );
  addRoute(
    api,
    parts,
    'POST /api/sessions/{session}/answer-batches',
    { summary: 'Answer several questions in their order', params, body: answerBatch, answer: answeredBatchView },
    (input) => sessions.respondInOrder(input.caller, input.params.session, input.body),
  );
}

function addTheSeven(api: Api, parts: ApiParts): void {
  const { sessions } = parts.app;
  addRoute(
    api,
    parts,
    'POST /api/sessions',
    {
      summary: 'start: start a session',
      body: startRequest,
      answer: sessionView,
      status: 201,
      keyIsJudgedInside: true,
    },
    ({ caller, body }) => sessions.start(caller, body),
  );
  addRoute(
    api,
    parts,
    'GET /api/status',
    { summary: 'status: everything at a glance, or one session', query: escalationQuery, answer: statusView },
    ({ caller, query }) => sessions.status(caller, query.session),
  );
  addRoute(
    api,
    parts,
    'GET /api/escalations',
    { summary: 'escalations: open questions of agents', query: escalationQuery, answer: z.array(escalationView) },
    ({ caller, query }) => sessions.escalations(caller, query.session),
  );
  addRoute(
    api,
    parts,
    'POST /api/sessions/{session}/answers',
    {
      summary: 'respond: answer the oldest open question',
      params,
      body: answerRequest,
      answer: escalationView,
      keyIsJudgedInside: true,
    },
    (input) => sessions.respond(input.caller, input.params.session, input.body.text),
  );
  addRoute(
    api,
    parts,
    'PUT /api/sessions/{session}/pause',
    {
      summary: 'pause: hold a running session',
      params,
      body: reasonRequest,
      answer: sessionView,
      keyIsJudgedInside: true,
    },
    (input) => sessions.pause(input.caller, input.params.session, input.body.reason),
  );
  addRoute(
    api,
    parts,
    'DELETE /api/sessions/{session}/pause',
    { summary: 'resume: let a paused session go on', params, answer: sessionView, keyIsJudgedInside: true },
    (input) => sessions.resume(input.caller, input.params.session),
  );
  addRoute(
    api,
    parts,
    'PUT /api/sessions/{session}/stop',
    { summary: 'stop: end a session', params, body: reasonRequest, answer: sessionView, keyIsJudgedInside: true },
    (input) => sessions.stop(input.caller, input.params.session, input.body.reason),
  );
}
