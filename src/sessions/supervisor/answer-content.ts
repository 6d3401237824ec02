import type { Json } from '../../kernel/index.ts';
import type { QuestionAnswer } from '../drivers/index.ts';

/**
 * A human's text as the content that a question's JSON schema wants: an object in JSON is taken as it is; else the text
 * fills the first field that can hold it (a choice by its value or title), and required fields that it cannot fill get
 * their default. Agents check it themselves; what cannot be made fit is sent as text and theirs to refuse.
 */
export function answerContent(schema: Json | undefined, text: string): QuestionAnswer {
  const properties = fieldsOf(schema);
  const names = Object.keys(properties);
  const given = parseObject(text);
  if (given && names.length > 0 && Object.keys(given).every((name) => names.includes(name)))
    return { action: 'accept', content: given };
  const content: Record<string, Json> = {};
  for (const [name, field] of Object.entries(properties))
    if (field.default !== undefined) content[name] = field.default;
  const target = names.find((name) => valueFor(properties[name] ?? {}, text) !== undefined);
  if (target === undefined)
    return { action: 'accept', content: names[0] === undefined ? { answer: text } : { ...content, [names[0]]: text } };
  return { action: 'accept', content: { ...content, [target]: valueFor(properties[target] ?? {}, text) ?? text } };
}

interface Field {
  type?: Json;
  enum?: Json;
  oneOf?: Json;
  items?: Json;
  default?: Json;
}

function fieldsOf(schema: Json | undefined): Record<string, Field> {
  if (!isObject(schema) || !isObject(schema.properties)) return {};
  return Object.fromEntries(
    Object.entries(schema.properties).filter((entry): entry is [string, { [key: string]: Json }] => isObject(entry[1])),
  );
}

function valueFor(field: Field, text: string): Json | undefined {
  const choice = choiceFor(field, text);
  if (choice !== undefined) return choice;
  if (Array.isArray(field.enum) || Array.isArray(field.oneOf)) return undefined;
  const plain = text.trim();
  switch (field.type) {
    case 'boolean':
      if (/^(yes|y|true|ok)$/i.test(plain)) return true;
      return /^(no|n|false)$/i.test(plain) ? false : undefined;
    case 'integer':
      return /^-?\d+$/.test(plain) ? Number(plain) : undefined;
    case 'number':
      return plain !== '' && Number.isFinite(Number(plain)) ? Number(plain) : undefined;
    case 'array':
      return isObject(field.items) ? listFor(field.items, plain) : undefined;
    case 'string':
    case undefined:
      return text;
    default:
      return undefined;
  }
}

function listFor(items: Field, text: string): Json | undefined {
  const values = text.split(/\s*[,\n]\s*/).map((part) => choiceFor(items, part));
  return values.every((value) => value !== undefined) ? values : undefined;
}

/** The choice whose value or title is this text, whatever its case. */
function choiceFor(field: Field, text: string): Json | undefined {
  const wanted = text.trim().toLowerCase();
  const isIt = (value: Json | undefined): boolean => typeof value === 'string' && value.toLowerCase() === wanted;
  if (Array.isArray(field.enum)) return field.enum.find(isIt);
  if (!Array.isArray(field.oneOf)) return undefined;
  const option = field.oneOf.find((each) => isObject(each) && (isIt(each.const) || isIt(each.title)));
  return isObject(option) ? option.const : undefined;
}

function parseObject(text: string): Record<string, Json> | undefined {
  try {
    const value = JSON.parse(text) as Json;
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: Json | undefined): value is { [key: string]: Json } {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
