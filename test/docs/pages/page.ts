/** One generated file, with its path from the root of the repository. */
export interface Page {
  file: string;
  content: string;
}

/** A Markdown page with its title and the note that it is generated. */
export function page(file: string, title: string, ...parts: readonly string[]): Page {
  const note = '<!-- Made by `npm run docs`; do not edit. -->';
  return { file, content: `${[`# ${title}`, note, ...parts.map((part) => part.trim())].join('\n\n')}\n` };
}

/** A Markdown table; bars inside of cells are escaped. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

/** A text as inline code. */
export function code(text: string): string {
  return `\`${text}\``;
}
