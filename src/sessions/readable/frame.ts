/** What a line of a journal tells, for people. */
export interface ReadableEntry {
  kind: EntryKind;
  text: string;
  /** A piece of a longer text: it goes on where the entry of the same kind before it ended. */
  continues?: true;
}

/** `agent` and `thought`: what it says; `output`: of a program without protocol; `result`: of a tool; `notice`: anything else worth a line. */
export type EntryKind =
  | 'agent'
  | 'thought'
  | 'user'
  | 'tool'
  | 'result'
  | 'plan'
  | 'question'
  | 'permission'
  | 'turn'
  | 'notice'
  | 'output';

/** An object of a protocol, of which nothing is known. */
export type Frame = Record<string, unknown>;

/** A member as text; empty when it is none. */
export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** A member as an object; empty when it is none. */
export function frameOf(value: unknown): Frame {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Frame) : {};
}

/** A member as a list of objects; empty when it is none. */
export function framesOf(value: unknown): Frame[] {
  return Array.isArray(value) ? value.map(frameOf) : [];
}

/** At most `max` characters, with a mark where something was cut. */
export function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max)}…` : text;
}
