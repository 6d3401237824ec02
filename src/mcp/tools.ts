import type { Tool } from '@modelcontextprotocol/server';

/** Role of the session that the agent runs in. */
export type AgentRole = 'author' | 'reviewer' | 'qa';

/** A tool as it is listed, and the request it becomes. */
export interface AgentTool {
  name: string;
  description: string;
  inputSchema: Tool['inputSchema'];
  /** Absent for the two that wait for a human (`wait-for-answer.ts`). */
  request?(args: Record<string, unknown>): { method: string; path: string; body?: unknown };
}

const text = (description: string, maxLength: number) => ({ type: 'string', description, minLength: 1, maxLength });
const schema = (properties: object, required: string[] = []): AgentTool['inputSchema'] => ({
  type: 'object',
  properties: properties as NonNullable<Tool['inputSchema']['properties']>,
  ...(required.length > 0 ? { required } : {}),
  additionalProperties: false,
});

const reportStatus: AgentTool = {
  name: 'report_status',
  description: 'Say in one or two sentences what you are doing. Call it when you start and whenever that changes.',
  inputSchema: schema(
    { text: text('What you are doing', 500), percent: { type: 'number', minimum: 0, maximum: 100 } },
    ['text'],
  ),
  request: (args) => ({ method: 'PUT', path: '/api/agent/status', body: args }),
};

const reportDone: AgentTool = {
  name: 'report_done',
  description:
    'Say that your work is ready. Commit everything first: uncommitted files are refused by name. Afterwards end your turn.',
  inputSchema: schema({ summary: text('What was done and how it was checked', 4000) }, ['summary']),
  request: (args) => ({ method: 'PUT', path: '/api/agent/completion', body: args }),
};

const submitReview: AgentTool = {
  name: 'submit_review',
  description:
    'Give your verdict on the change. A finding blocks only with file, line and a scenario in which it fails; the others are notes.',
  inputSchema: schema(
    {
      verdict: { type: 'string', enum: ['approve', 'request_changes'] },
      summary: text('Your judgement in short', 4000),
      findings: {
        type: 'array',
        maxItems: 100,
        items: schema(
          {
            file: { type: 'string', maxLength: 4096 },
            line: { type: 'integer', minimum: 1 },
            text: text('What is wrong', 4000),
            scenario: text('Input or steps, and the wrong result', 4000),
          },
          ['text'],
        ),
      },
      coverage: {
        type: 'array',
        maxItems: 10_000,
        items: { type: 'string', maxLength: 4096 },
        description: 'Files of the change that you really read; an approval that leaves one out does not count',
      },
    },
    ['verdict', 'summary'],
  ),
  request: (args) => ({ method: 'PUT', path: '/api/agent/review', body: args }),
};

/** Asks a human; the question is stored once, whatever happens to the connection. */
export const askHuman: AgentTool = {
  name: 'ask_human',
  description:
    'Ask the human one question that you cannot answer yourself, and wait for the answer. If the answer has not come, call wait_answer; do not ask again and do not guess.',
  inputSchema: schema({ text: text('The question, with what is needed to decide and your proposal', 4000) }, ['text']),
};

/** Goes on waiting for an answer. */
export const waitAnswer: AgentTool = {
  name: 'wait_answer',
  description: 'Wait on for the answer to a question of yours.',
  inputSchema: schema({ question: text('Id of the question; without it the newest one', 128) }),
};

const authorTools: readonly AgentTool[] = [
  reportStatus,
  askHuman,
  waitAnswer,
  {
    name: 'report_checkpoint',
    description: 'Report a checkpoint of your work, such as a test run.',
    inputSchema: schema(
      {
        name: text('Which checkpoint', 128),
        result: { type: 'string', enum: ['passed', 'failed', 'info'] },
        summary: text('What came out', 500),
      },
      ['name', 'result'],
    ),
    request: (args) => ({ method: 'POST', path: '/api/agent/checkpoints', body: args }),
  },
  reportDone,
  {
    name: 'list_peers',
    description: 'List the other sessions that you can send messages to.',
    inputSchema: schema({}),
    request: () => ({ method: 'GET', path: '/api/agent/peers' }),
  },
  {
    name: 'send_message',
    description: 'Send a message to another session.',
    inputSchema: schema({ to: text('Its endpoint id', 128), text: text('The message', 4000) }, ['to', 'text']),
    request: (args) => ({ method: 'POST', path: '/api/agent/messages', body: args }),
  },
  {
    name: 'check_messages',
    description: 'Read the messages to you; name those you have read, so that they do not come again.',
    inputSchema: schema({ ack: { type: 'array', items: { type: 'string', maxLength: 128 }, maxItems: 500 } }),
    request: (args) => ({ method: 'POST', path: '/api/agent/inbox', body: args }),
  },
  {
    name: 'set_summary',
    description: 'Say in one sentence what you work on; other sessions see it.',
    inputSchema: schema({ text: text('The sentence', 500) }, ['text']),
    request: (args) => ({ method: 'PUT', path: '/api/agent/summary', body: args }),
  },
  {
    name: 'task_ready',
    description: 'List tasks that could start now.',
    inputSchema: schema({ limit: { type: 'integer', minimum: 1, maximum: 50 } }),
    request: ({ limit }) => ({
      method: 'GET',
      path: `/api/agent/tasks/ready${limit === undefined ? '' : `?limit=${encodeURIComponent(String(limit))}`}`,
    }),
  },
  {
    name: 'task_claim',
    description: 'Get the brief of your task, or claim a ready one.',
    inputSchema: schema({ task: text('Id of the task, or <project>/<task>', 400) }, ['task']),
    request: ({ task }) => ({
      method: 'PUT',
      path: `/api/agent/tasks/${encodeURIComponent(String(task))}/claim`,
      body: {},
    }),
  },
  {
    name: 'task_update',
    description: 'Note something on the task that you hold, or correct its estimate.',
    inputSchema: schema(
      {
        task: text('Id of the task, or <project>/<task>', 400),
        note: text('The note', 500),
        tokenEstimate: { type: 'integer', minimum: 1 },
      },
      ['task'],
    ),
    request: ({ task, ...change }) => ({
      method: 'PATCH',
      path: `/api/agent/tasks/${encodeURIComponent(String(task))}`,
      body: change,
    }),
  },
];

/** The tools of each role: at most 12, at most 8,000 characters of schema. Reviewers ask nothing and message nobody (R-36). */
export const toolsOf: Readonly<Record<AgentRole, readonly AgentTool[]>> = {
  author: authorTools,
  reviewer: [reportStatus, submitReview, reportDone],
  qa: [reportStatus, reportDone],
};
