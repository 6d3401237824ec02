import { canonicalJson, type Json, sha256 } from '../kernel/index.ts';
import { redactSecrets } from './redact.ts';

/** What a human sees of a call before the yes (decision 8). */
export interface CallPreview {
  /** Every character visible: control, bidi and zero-width ones written out, secrets masked. */
  text: string;
  /** Characters of the original, before anything was made visible or masked. */
  length: number;
  /** SHA-256 of the original. */
  hash: string;
  maskedCount: number;
  /** False when `text` had to be cut: then the call cannot be approved (attack 16). */
  isComplete: boolean;
  /** False when the agent gave no arguments and only its title is shown. */
  hasArguments: boolean;
}

/** Longest preview; more cannot be read whole by a human, so it is not approvable. */
export const maxPreviewLength = 20_000;

/** Control but newline, format, private, unassigned, lone surrogates, odd spaces and line separators, variation selectors, fillers. */
const invisible = new RegExp(
  [
    String.raw`[^\P{C}\n]`,
    String.raw`[\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000\u115F\u1160\u3164\uFFA0\u2800]`,
    String.raw`\p{Variation_Selector}`,
  ].join('|'),
  'gu',
);
/** More white space in a row than a line has reason for; it could push what follows out of sight. */
const longSpace = / {17,}|\n{4,}/g;

/** More of the original than this is not even looked at for the preview. */
const maxConsidered = 3 * maxPreviewLength;

/** Makes the preview of `value`: a text as it is, anything else as JSON with two spaces. */
export function previewOf(value: Json | undefined, title: string): CallPreview {
  const original = value === undefined ? title : textOf(value);
  const considered = cutAtSpace(original);
  const { text: masked, maskedCount } = redactSecrets(considered);
  const visible = makeVisible(masked);
  const isComplete = considered.length === original.length && visible.length <= maxPreviewLength;
  return {
    text: isComplete ? visible : `${visible.slice(0, maxPreviewLength).toWellFormed()}…`,
    length: countCharacters(original),
    hash: sha256(value === undefined ? title.toWellFormed() : canonicalText(value)),
    maskedCount,
    isComplete,
    hasArguments: value !== undefined,
  };
}

/** Cuts a long text between words, so that no half secret escapes the mask. */
function cutAtSpace(text: string): string {
  if (text.length <= maxConsidered) return text;
  return text.slice(0, Math.max(0, text.slice(0, maxConsidered).search(/[^A-Za-z0-9_-][A-Za-z0-9_-]*$/)));
}

function countCharacters(text: string): number {
  let pairs = 0;
  for (let at = 0; at < text.length; at++) if ((text.charCodeAt(at) & 0xfc00) === 0xd800) pairs += 1;
  return text.length - pairs;
}

/** Writes out every character that a screen would hide or reorder, and the length of long white space. */
export function makeVisible(text: string): string {
  return text
    .replaceAll('\t', '⇥')
    .replace(
      invisible,
      (character) => `\\u{${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}}`,
    )
    .replace(longSpace, (run) => `[${run.length} ${run.startsWith(' ') ? 'spaces' : 'line feeds'}]`);
}

function textOf(value: Json): string {
  if (typeof value === 'string') return value;
  if (value !== null && typeof value === 'object' && !Array.isArray(value)) {
    return Object.entries(value)
      .map(([name, member]) => memberText(name, member))
      .join('\n');
  }
  return JSON.stringify(value, null, 2);
}

/** One member a line; further lines are indented, so that no value can pose as another member. */
function memberText(name: string, member: Json): string {
  const shownName = /^[\w.-]{1,100}$/.test(name) ? name : JSON.stringify(name);
  const text = typeof member === 'string' ? member : JSON.stringify(member, null, 2);
  return `${shownName}: ${text.replaceAll('\n', '\n  ')}`;
}

/** Canonical JSON; a lone surrogate, which it cannot hold, is written out first. */
export function canonicalText(value: Json): string {
  try {
    return canonicalJson(value);
  } catch {
    return JSON.stringify(value).toWellFormed();
  }
}
