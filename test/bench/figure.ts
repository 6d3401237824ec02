/** Milliseconds (or what `unit` says) within which half and 95 % were done. */
export interface Spread {
  n: number;
  p50: number;
  p95: number;
}

/** What design section 11 names for a figure: no more than `atMost` at that part of the spread. */
export interface Target {
  at: 'p50' | 'p95';
  atMost: number;
}

/** One measured thing. Ratios count, not the milliseconds of one machine: ours beside a baseline of the same run. */
export interface Figure extends Spread {
  name: string;
  unit: string;
  /** The same work without us, measured in turns with ours. */
  baseline?: Spread & { name: string };
  /** `p50 / baseline.p50`. */
  ratio?: number;
  target?: Target & { isMet: boolean };
  /** What the numbers do not say. */
  note?: string;
}

/** What a bench hands over besides its samples. */
export interface FigureParts {
  unit?: string;
  baseline?: { name: string; samples: readonly number[] };
  target?: Target;
  note?: string;
}

/** A figure from samples; the first tenth was to warm up and is left out where there are 20 or more. */
export function figureOf(name: string, samples: readonly number[], parts: FigureParts = {}): Figure {
  const ours = spreadOf(samples);
  const baseline = parts.baseline && { name: parts.baseline.name, ...spreadOf(parts.baseline.samples) };
  return judged({
    name,
    unit: parts.unit ?? 'ms',
    ...ours,
    ...(baseline && { baseline }),
    ...(parts.target && { target: { ...parts.target, isMet: false } }),
    ...(parts.note !== undefined && { note: parts.note }),
  });
}

/** A figure with four digits, which are as many as mean something, its ratio, and whether its target is met. */
export function judged({ baseline, target, ...figure }: Figure): Figure {
  const ratio = baseline && round(figure.p50 / baseline.p50);
  return {
    ...figure,
    ...roundedSpread(figure),
    ...(baseline && { baseline: { ...baseline, ...roundedSpread(baseline) } }),
    ...(ratio !== undefined && { ratio }),
    ...(target && { target: { ...target, isMet: figure[target.at] <= target.atMost } }),
  };
}

/** Half and 95 % of samples. */
export function spreadOf(samples: readonly number[]): Spread {
  const kept = samples.length < 20 ? samples : samples.slice(Math.floor(samples.length / 10));
  const sorted = kept.toSorted((a, b) => a - b);
  const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
  return { n: sorted.length, p50: at(0.5), p95: at(0.95) };
}

/** Takes both in turns, so that what else the machine does hits both alike. Milliseconds. */
export async function inTurns(
  count: number,
  ours: () => Promise<unknown>,
  baseline: () => Promise<unknown>,
): Promise<{ ours: number[]; baseline: number[] }> {
  const samples = { ours: [] as number[], baseline: [] as number[] };
  for (let n = 0; n < count; n += 1) {
    samples.ours.push(await timed(ours));
    samples.baseline.push(await timed(baseline));
  }
  return samples;
}

/** How long one run takes, in ms. */
export async function timed(run: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await run();
  return performance.now() - began;
}

function roundedSpread({ n, p50, p95 }: Spread): Spread {
  return { n, p50: round(p50), p95: round(p95) };
}

function round(value: number): number {
  return Number(value.toPrecision(4));
}
