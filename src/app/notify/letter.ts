/** What a message says, before a channel gives it a form. */
export interface Letter {
  /** The same at every try of this message. */
  key: string;
  /** What it is about, the same for a reminder: receivers may let the newer one take the older one's place. */
  subject: string;
  kind: 'question' | 'decision' | 'alert' | 'summary' | 'test';
  isReminder: boolean;
  priority: 'urgent' | 'high' | 'normal';
  /** One line of our own words and ids. */
  title: string;
  parts: readonly Part[];
  buttons: readonly Button[];
  /** Decisions that an answer or a button may settle, in order. */
  decisions: readonly string[];
  /** Where to look at it. */
  link: string;
  at: number;
}

/** A paragraph: our own words, or a text of somebody else, which is data and is shown as such. */
export type Part = { ours: string } | { theirs: string };

/** A verdict that one press gives. */
export interface Button {
  label: string;
  verdict: 'approve' | 'refuse';
  decisionId: string;
}

/** Cuts to at most `max` UTF-16 units at a character's boundary, saying that it was cut. */
export function cut(text: string, max: number): string {
  if (text.length <= max) return text;
  const mark = '… [cut]';
  const kept = text.slice(0, Math.max(0, max - mark.length));
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}${mark}`;
}
