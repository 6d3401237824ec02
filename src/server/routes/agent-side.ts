import { z } from 'zod';

import {
  agentTaskChange,
  anyId,
  checkpoint,
  claimView,
  completion,
  completionView,
  heardView,
  messageQuery,
  messageView,
  outgoingMessage,
  peerView,
  question,
  questionView,
  readyQuery,
  reviewReceipt,
  reviewSubmission,
  sentView,
  statusReport,
  summaryChange,
  taskView,
  waitQuery,
} from '../../wire/index.ts';
import type { ApiParts } from '../parts.ts';
import { addRoute, type Api } from '../route.ts';
import type { SessionLimits } from '../session-limits.ts';

/** What agents call, through `chantier mcp`. The session is always the one of the token. */
export function addAgentSideRoutes(api: Api, parts: ApiParts, limits: SessionLimits): void {
  const { agentSide } = parts.app;
  addRoute(
    api,
    parts,
    'PUT /api/agent/status',
    { summary: 'report_status', body: statusReport, answer: heardView },
    ({ caller, body }) => agentSide.reportStatus(caller, body),
  );
  addRoute(
    api,
    parts,
    'POST /api/agent/questions',
    { summary: 'ask_human: store a question once', body: question, answer: questionView, status: 201 },
    ({ caller, body }) => agentSide.askHuman(caller, body.text),
  );
  addRoute(
    api,
    parts,
    'GET /api/agent/questions/{question}',
    {
      summary: 'wait_answer: wait up to 60 s for an answer',
      params: z.object({ question: anyId }),
      query: waitQuery,
      answer: questionView,
    },
    async (input) => {
      const place = limits.take(input.caller, 'wait');
      if (!place.ok) return place;
      try {
        return await agentSide.waitAnswer(input.caller, input.params.question, input.query.waitMs);
      } finally {
        place.value();
      }
    },
  );
  addRoute(
    api,
    parts,
    'POST /api/agent/checkpoints',
    { summary: 'report_checkpoint', body: checkpoint, answer: heardView },
    ({ caller, body }) => agentSide.reportCheckpoint(caller, body),
  );
  addRoute(
    api,
    parts,
    'PUT /api/agent/completion',
    { summary: 'report_done', body: completion, answer: completionView },
    ({ caller, body }) => agentSide.reportDone(caller, body.summary),
  );
  addRoute(
    api,
    parts,
    'PUT /api/agent/review',
    { summary: 'submit_review', body: reviewSubmission, answer: reviewReceipt },
    ({ caller, body }) => agentSide.submitReview(caller, body),
  );
  addMessageRoutes(api, parts);
  addAgentTaskRoutes(api, parts);
}

function addMessageRoutes(api: Api, parts: ApiParts): void {
  const { agentSide } = parts.app;
  addRoute(api, parts, 'GET /api/agent/peers', { summary: 'list_peers', answer: z.array(peerView) }, ({ caller }) =>
    agentSide.listPeers(caller),
  );
  addRoute(
    api,
    parts,
    'POST /api/agent/messages',
    { summary: 'send_message', body: outgoingMessage, answer: sentView, status: 201 },
    ({ caller, body }) => agentSide.sendMessage(caller, body),
  );
  addRoute(
    api,
    parts,
    'POST /api/agent/inbox',
    {
      summary: 'check_messages: acknowledge, then get what is unread',
      body: messageQuery,
      answer: z.array(messageView),
    },
    ({ caller, body }) => agentSide.checkMessages(caller, body.ack),
  );
  addRoute(
    api,
    parts,
    'PUT /api/agent/summary',
    { summary: 'set_summary', body: summaryChange, answer: heardView },
    ({ caller, body }) => agentSide.setSummary(caller, body.text),
  );
}

function addAgentTaskRoutes(api: Api, parts: ApiParts): void {
  const { agentSide } = parts.app;
  const params = z.object({ task: z.string().min(1).max(400) });
  addRoute(
    api,
    parts,
    'GET /api/agent/tasks/ready',
    { summary: 'task_ready', query: readyQuery, answer: z.array(taskView) },
    ({ caller, query }) => agentSide.taskReady(caller, query.limit),
  );
  addRoute(
    api,
    parts,
    'PUT /api/agent/tasks/{task}/claim',
    { summary: 'task_claim', params, answer: claimView },
    (input) => agentSide.taskClaim(input.caller, input.params.task),
  );
  addRoute(
    api,
    parts,
    'PATCH /api/agent/tasks/{task}',
    { summary: 'task_update', params, body: agentTaskChange, answer: taskView },
    (input) => agentSide.taskUpdate(input.caller, input.params.task, input.body),
  );
}
