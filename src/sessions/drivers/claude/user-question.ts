import type { Json } from '../../../kernel/index.ts';
import type { QuestionAnswer, QuestionView } from '../driver-event.ts';
import { isRecord, recordsOf, textOf } from '../read-json.ts';

/** The tool by which Claude Code asks its user; it comes as a permission whose answer is the tool's input. */
export const askTool = 'AskUserQuestion';

interface Question {
  /** Name of its field in the form; the question's own text is no good name. */
  field: string;
  text: string;
  header: string;
  isMulti: boolean;
  options: { label: string; description: string }[];
}

/** The form of a call of the tool: one field for each of its questions, choices by label. */
export function readUserQuestion(requestId: string, request: Record<string, unknown>): QuestionView {
  const questions = questionsOf(request.input);
  const callId = textOf(request.tool_use_id);
  return {
    requestId,
    text: questions.length === 1 ? showQuestion(questions[0]) : questions.map(showNumbered).join('\n\n'),
    schema: {
      type: 'object',
      properties: Object.fromEntries(questions.map((question) => [question.field, schemaOf(question)])),
      required: questions.map(({ field }) => field),
    },
    ...(callId === undefined ? {} : { callId }),
  };
}

/**
 * The result for an answer: `updatedInput` with `answers`, question → label; several labels are joined by a comma. A text
 * that is none of the choices is passed on as it is, as the agent's own dialog allows.
 */
export function answerUserQuestion(request: Record<string, unknown>, answer: QuestionAnswer): Record<string, Json> {
  if (answer.action === 'cancel') return { behavior: 'deny', message: 'The question was withdrawn.', interrupt: true };
  if (answer.action === 'decline')
    return { behavior: 'deny', message: 'Nobody answers this question. Decide by yourself, and say what you assumed.' };
  const input = isRecord(request.input) ? request.input : {};
  const answers: Record<string, Json> = {};
  for (const { field, text } of questionsOf(request.input)) {
    const value = answer.content[field];
    if (value !== undefined) answers[text] = Array.isArray(value) ? value.join(', ') : plain(value);
  }
  return { behavior: 'allow', updatedInput: { ...(input as Record<string, Json>), answers } };
}

function plain(value: Json): string {
  return typeof value === 'string' ? value : JSON.stringify(value);
}

function questionsOf(input: unknown): Question[] {
  return recordsOf(isRecord(input) ? input.questions : undefined).map((each, index) => ({
    field: `question_${index + 1}`,
    text: textOf(each.question) ?? '',
    header: textOf(each.header) ?? '',
    isMulti: each.multiSelect === true,
    options: recordsOf(each.options).flatMap((option) => {
      const label = textOf(option.label);
      return label === undefined ? [] : [{ label, description: textOf(option.description) ?? '' }];
    }),
  }));
}

function schemaOf({ text, header, isMulti, options }: Question): Json {
  const choices = options.map(({ label, description }) => ({ const: label, title: label, description }));
  const about = { title: header, description: text };
  if (choices.length === 0) return { type: 'string', ...about };
  return isMulti
    ? { type: 'array', ...about, items: { type: 'string', oneOf: choices } }
    : { type: 'string', ...about, oneOf: choices };
}

function showQuestion(question: Question | undefined): string {
  if (!question) return '';
  const options = question.options.map(
    ({ label, description }) => `- ${label}${description ? `: ${description}` : ''}`,
  );
  return [question.text, ...options, ...(question.isMulti ? ['(several may be chosen)'] : [])].join('\n');
}

function showNumbered(question: Question, index: number): string {
  return `${index + 1}. ${showQuestion(question)}`;
}
