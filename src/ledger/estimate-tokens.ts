/** What an estimate looks at. */
export interface EstimateInput {
  title: string;
  description?: string;
  request?: string | null;
  durationMinutes?: number | null;
  isVisual?: boolean;
}

/** Tokens that any task costs: reading the brief, finding the place, reporting. */
const baseTokens = 600;
/** Work grows with what is asked: each token of the text stands for this many of reading and writing. */
const perTextToken = 12;
/** A minute of an agent at work, as tokens. */
const perMinute = 120;
/** Looking at a picture once and correcting after it. */
const visualTokens = 1500;
const mostTokens = 200_000;

/**
 * A deterministic guess of the tokens a task will take, used when the caller gives none (L-34): 600 for any task, 12 for
 * each token of its text (4 characters a token), 1,500 more where a picture is checked; at least 120 a minute of the
 * estimated duration; rounded up to 50, at most 200,000.
 */
export function estimateTokens(input: EstimateInput): number {
  const characters = [input.title, input.description ?? '', input.request ?? ''].reduce(
    (sum, text) => sum + [...text].length,
    0,
  );
  const byText = baseTokens + perTextToken * Math.ceil(characters / 4) + (input.isVisual ? visualTokens : 0);
  const byTime = perMinute * (input.durationMinutes ?? 0);
  return Math.min(mostTokens, Math.ceil(Math.max(byText, byTime) / 50) * 50);
}
