import { forLog, textFault } from '../kernel/index.ts';
import { type Field, fieldAliases, type FieldSet, isCodename, maxText } from './fields.ts';

/** One thing that is wrong with a payload; all are reported together (L-33). */
export interface InputFault {
  /** Where: `first_tasks[1].assignee`. */
  path: string;
  code: string;
  message: string;
}

/** A reference that still has to be looked up. */
export interface Reference {
  path: string;
  column: string;
  to: 'project_scope' | 'task_scope' | 'client' | 'agent';
  name: string;
}

export type Value = string | number | null;

/** The values of the fields that were given, by column; references apart. */
export interface ReadFields {
  values: Record<string, Value>;
  references: Reference[];
}

/** Whether a payload part is a plain object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Reads the given fields of `payload` and adds what is wrong to `faults`; names that neither `fields` nor `others` know
 * are faults too, so that nothing a caller wrote is dropped in silence.
 */
export function readFields(
  payload: Record<string, unknown>,
  fields: FieldSet,
  path: string,
  faults: InputFault[],
  others: readonly string[] = [],
): ReadFields {
  const read: ReadFields = { values: {}, references: [] };
  for (const [given, value] of Object.entries(payload)) {
    if (others.includes(given) || value === undefined) continue;
    const alias = Object.hasOwn(fieldAliases, given) ? fieldAliases[given] : undefined;
    const name = Object.hasOwn(fields, given) ? given : (alias ?? given);
    const at = path ? `${path}.${given}` : given;
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!field) {
      const known = [...Object.keys(fields), ...others].join(', ');
      faults.push({ path: at, code: 'unknown_field', message: `is not a field here; known are ${known}` });
      continue;
    }
    if (name !== given && payload[name] !== undefined) {
      faults.push({ path: at, code: 'given_twice', message: `says the same as ${name}; give one of them` });
      continue;
    }
    const column = field.column ?? name;
    if (field.kind === 'reference') {
      if (value === null || value === '') read.values[column] = null;
      else if (typeof value === 'string') read.references.push({ path: at, column, to: field.to, name: value });
      else faults.push({ path: at, code: 'wrong_type', message: 'must be a codename or an id' });
      continue;
    }
    const result = readValue(value, field);
    if (typeof result === 'object' && result !== null) {
      faults.push({ path: at, code: result.code, message: result.fault });
    } else {
      read.values[column] = result;
    }
  }
  return read;
}

type Fault = { fault: string; code: string };
const fault = (code: string, text: string): Fault => ({ code, fault: text });

function readValue(value: unknown, field: Exclude<Field, { kind: 'reference' }>): Value | Fault {
  switch (field.kind) {
    case 'line':
      return readLine(value, field.max, field.required === true);
    case 'text':
      return readText(value, field.max, field.notNull === true);
    case 'codename':
      return typeof value === 'string' && isCodename(value) ? value : codenameFault(value);
    case 'integer':
      if (value === null) return null;
      if (Number.isSafeInteger(value) && (value as number) >= 0 && (value as number) <= field.max)
        return value as number;
      return fault('wrong_number', `must be a whole number from 0 to ${field.max}`);
    case 'signed':
      return Number.isSafeInteger(value) ? (value as number) : fault('wrong_number', 'must be a whole number');
    case 'flag':
      if (value === true || value === 1) return 1;
      return value === false || value === 0 ? 0 : fault('wrong_type', 'must be true or false');
    case 'choice': {
      if (value === null && field.nullable) return null;
      const word = typeof value === 'string' ? (field.synonyms?.[value] ?? value) : value;
      if (typeof word === 'string' && field.of.includes(word)) return word;
      return fault('unknown_choice', `is ${forLog(value, 40)}; must be one of ${field.of.join(', ')}`);
    }
    case 'json':
      return readJson(value, field.shape);
    case 'euros':
      if (value === null) return null;
      if (typeof value === 'number' && Number.isFinite(value) && value >= 0 && value <= 1e9)
        return Math.round(value * 1_000_000);
      return fault('wrong_number', 'must be an amount in euros, 0 or more');
  }
}

/** JSON that both databases take: bounded, and no text in it that free text may not hold. */
function readJson(value: unknown, shape: 'object' | 'list'): string | Fault {
  if (shape === 'list' ? !Array.isArray(value) : !isObject(value)) {
    return fault('wrong_type', `must be a JSON ${shape}`);
  }
  const texts: string[] = [];
  const written = JSON.stringify(value, (key, member: unknown) => {
    texts.push(key);
    if (typeof member === 'string') texts.push(member);
    return member;
  });
  if (written.length > maxText) return fault('bad_text', `is longer than ${maxText} characters`);
  const wrong = texts.map((text) => textFault(text, { max: maxText })).find((found) => found !== undefined);
  return wrong ? fault('bad_text', `holds a text that ${wrong}`) : written;
}

/** Why a codename is none (L-33a). */
export function codenameFault(value: unknown): Fault {
  return fault(
    'bad_codename',
    `is ${forLog(value, 80)}; must be 4 to 64 of a-z, 0-9 and -, with a letter or digit first and last`,
  );
}

function readLine(value: unknown, max: number, required: boolean): string | null | Fault {
  if (value === null && !required) return null;
  if (typeof value !== 'string') return fault('wrong_type', 'must be a text');
  if (required && value.trim() === '') return fault('empty', 'is empty');
  if (value.includes('\n')) return fault('bad_text', 'must be one line');
  const wrong = textFault(value, { max });
  return wrong ? fault('bad_text', wrong) : value;
}

function readText(value: unknown, max: number, notNull: boolean): string | null | Fault {
  if (value === null) return notNull ? '' : null;
  if (typeof value !== 'string') return fault('wrong_type', 'must be a text');
  const lines = value.replaceAll('\r\n', '\n');
  const wrong = textFault(lines, { max });
  return wrong ? fault('bad_text', wrong) : lines;
}
