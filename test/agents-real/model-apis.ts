import { randomUUID } from 'node:crypto';

import type { Answer, Conversation } from './model-script.ts';

type Fields = Record<string, any>; // oxlint-disable-line typescript/no-explicit-any -- requests of four APIs

/** A body to send: one JSON document, or events of a stream (`name` where the API names them). */
export type Sent = { json: unknown } | { events: readonly { name?: string; data: unknown }[]; end?: string };

/** One model API: which requests it takes, how they are read, and how an answer is written. */
export interface ModelApi {
  path: RegExp;
  read(body: Fields): Conversation;
  write(answer: Answer, request: { body: Fields; path: string }): Sent;
}

const usage = { in: 100, out: 20 };
const id = (prefix: string): string => `${prefix}_${randomUUID().replaceAll('-', '').slice(0, 24)}`;

const anthropicMessages: ModelApi = {
  path: /\/v1\/messages$/,
  read: ({ messages = [], tools = [] }) => ({
    turns: messages.map((one: Fields) => ({ by: one.role, text: textOf(one.content) })),
    tools,
    heard: newest(messages.flatMap(({ content }: Fields) => partsOf(content, 'tool_result'))),
  }),
  write({ text, call }, { body }) {
    const blocks = [
      ...(text === '' ? [] : [{ type: 'text', text }]),
      ...(call ? [{ type: 'tool_use', id: id('toolu'), name: call.name, input: call.input }] : []),
    ];
    const end = { stop_reason: call ? 'tool_use' : 'end_turn', stop_sequence: null };
    const message = { id: id('msg'), type: 'message', role: 'assistant', model: body.model };
    const tokens = { input_tokens: usage.in, output_tokens: usage.out };
    if (body.stream !== true) return { json: { ...message, content: blocks, ...end, usage: tokens } };
    const start = { ...message, content: [], stop_reason: null, stop_sequence: null, usage: tokens };
    const events = [
      { type: 'message_start', message: start },
      ...blocks.flatMap((block, index) => [
        { type: 'content_block_start', index, content_block: emptied(block) },
        { type: 'content_block_delta', index, delta: deltaOf(block) },
        { type: 'content_block_stop', index },
      ]),
      { type: 'message_delta', delta: end, usage: { output_tokens: usage.out } },
      { type: 'message_stop' },
    ];
    return { events: events.map((data) => ({ name: data.type, data })) };
  },
};

const openAiResponses: ModelApi = {
  path: /\/responses$/,
  read: ({ input = [], tools = [] }) => ({
    turns: (typeof input === 'string' ? [{ role: 'user', content: input }] : input).flatMap((item: Fields) => {
      if (item.role === 'user' || item.role === 'assistant') return [{ by: item.role, text: textOf(item.content) }];
      const isOwn = item.type === 'function_call' || item.type === 'custom_tool_call';
      return isOwn ? [{ by: 'assistant', text: '' }] : [];
    }),
    tools: tools.flatMap((tool: Fields) =>
      tool.type === 'namespace'
        ? tool.tools.map((one: Fields) => ({ name: one.name, namespace: tool.name }))
        : [{ name: tool.name ?? tool.type, isCustom: tool.type === 'custom' }],
    ),
    heard: newest(partsOf(input, 'function_call_output')),
  }),
  write({ text, call }, { body }) {
    const output = call ? responsesCall(call) : responsesMessage(text);
    const response = { id: id('resp'), object: 'response', model: body.model, output: [output] };
    const tokens = { input_tokens: usage.in, output_tokens: usage.out, total_tokens: usage.in + usage.out };
    const completed = { ...response, status: 'completed', usage: tokens };
    if (body.stream !== true) return { json: completed };
    const events = [
      { type: 'response.created', response: { ...response, output: [], status: 'in_progress' } },
      { type: 'response.output_item.added', output_index: 0, item: output },
      { type: 'response.output_item.done', output_index: 0, item: output },
      { type: 'response.completed', response: completed },
    ];
    return { events: events.map((data, at) => ({ name: data.type, data: { ...data, sequence_number: at } })) };
  },
};

const openAiChat: ModelApi = {
  path: /\/chat\/completions$/,
  read: ({ messages = [], tools = [] }) => ({
    turns: messages
      .filter((one: Fields) => one.role === 'user' || one.role === 'assistant')
      .map((one: Fields) => ({ by: one.role, text: textOf(one.content) })),
    tools: tools.map((tool: Fields) => tool.function),
    heard: newest(messages.filter((one: Fields) => one.role === 'tool')),
  }),
  write({ text, call }, { body }) {
    const named = call && { name: call.name, arguments: JSON.stringify(call.input) };
    const calls = named ? { tool_calls: [{ index: 0, id: id('call'), type: 'function', function: named }] } : {};
    const message = { role: 'assistant', content: text, ...calls };
    const finish = { finish_reason: call ? 'tool_calls' : 'stop', index: 0 };
    const chat = { id: id('chat'), model: body.model, created: 0 };
    const tokens = { prompt_tokens: usage.in, completion_tokens: usage.out, total_tokens: usage.in + usage.out };
    if (body.stream !== true)
      return { json: { ...chat, object: 'chat.completion', choices: [{ ...finish, message }], usage: tokens } };
    const chunk = { ...chat, object: 'chat.completion.chunk' };
    const events = [
      { data: { ...chunk, choices: [{ index: 0, delta: message, finish_reason: null }] } },
      { data: { ...chunk, choices: [{ ...finish, delta: {} }], usage: tokens } },
    ];
    return { events, end: 'data: [DONE]\n\n' };
  },
};

const geminiGenerate: ModelApi = {
  path: /:(streamGenerateContent|generateContent)$/,
  read: ({ contents = [], tools = [] }) => ({
    turns: contents.map((one: Fields) => ({
      by: one.role === 'model' ? 'assistant' : 'user',
      text: textOf(one.parts),
    })),
    tools: tools.flatMap((tool: Fields) => tool.functionDeclarations ?? []),
    heard: newest(contents.flatMap((one: Fields) => one.parts.filter((part: Fields) => part.functionResponse))),
  }),
  write({ text, call }, { path }) {
    const parts = [
      ...(text === '' ? [] : [{ text }]),
      ...(call ? [{ functionCall: { name: call.name, args: call.input } }] : []),
    ];
    const total = {
      promptTokenCount: usage.in,
      candidatesTokenCount: usage.out,
      totalTokenCount: usage.in + usage.out,
    };
    const data = {
      candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP', index: 0 }],
      usageMetadata: total,
    };
    return path.includes(':stream') ? { events: [{ data }] } : { json: data };
  },
};

/** The four APIs that the agents speak. */
export const modelApis: readonly ModelApi[] = [anthropicMessages, openAiResponses, openAiChat, geminiGenerate];

/** Requests beside the answers themselves that agents make: token counts, lists of models. */
export function sideAnswer(path: string): unknown {
  if (path.endsWith('/count_tokens')) return { input_tokens: usage.in };
  if (path.endsWith(':countTokens')) return { totalTokens: usage.in };
  return path.endsWith('/models') ? { object: 'list', data: [] } : undefined;
}

/** The words in a message: its text, or the texts of its parts; what tools gave is left out. */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content.map((part: Fields) => (typeof part.text === 'string' ? part.text : '')).join('\n');
}

function partsOf(content: unknown, type: string): Fields[] {
  return Array.isArray(content) ? content.filter((part: Fields) => part.type === type) : [];
}

function newest(results: readonly Fields[]): string {
  return JSON.stringify(results.at(-1) ?? '');
}

function emptied(block: Fields): Fields {
  return block.type === 'text' ? { ...block, text: '' } : { ...block, input: {} };
}

function deltaOf(block: Fields): Fields {
  if (block.type === 'text') return { type: 'text_delta', text: block.text };
  return { type: 'input_json_delta', partial_json: JSON.stringify(block.input) };
}

function responsesMessage(text: string): Fields {
  const content = [{ type: 'output_text', text, annotations: [] }];
  return { type: 'message', id: id('msg'), role: 'assistant', status: 'completed', content };
}

function responsesCall({ name, namespace, isCustom, input }: NonNullable<Answer['call']>): Fields {
  const call = { call_id: id('call'), name, ...(namespace === undefined ? {} : { namespace }), status: 'completed' };
  if (isCustom) return { type: 'custom_tool_call', id: id('ctc'), ...call, input: String(input.input ?? '') };
  return { type: 'function_call', id: id('fc'), ...call, arguments: JSON.stringify(input) };
}
