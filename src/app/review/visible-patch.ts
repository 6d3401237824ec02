import { makeVisible } from '../../gate/index.ts';

/** Deeper indentation is written out as its length: it could push what follows out of sight. */
const maxIndent = 40;

/**
 * A patch with every character that a screen would hide or reorder written out, line by line; indentation of up to 40 spaces stays as it
 * is. Only a line feed ends a line: what else a viewer takes for one (CR, U+2028, U+2029) is written out.
 */
export function visiblePatch(patch: string): string {
  return patch.split('\n').map(visiblePatchLine).join('\n');
}

function visiblePatchLine(line: string): string {
  const indent = /^[-+ ]? */.exec(line)?.[0] ?? '';
  return indent.length > maxIndent ? makeVisible(line) : `${indent}${makeVisible(line.slice(indent.length))}`;
}

/** A name or a title on one line: line feeds are written out too. */
export function visibleLine(text: string): string {
  return makeVisible(text).replaceAll('\n', String.raw`\u{000A}`);
}
