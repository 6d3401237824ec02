/** Dollars for a million tokens. */
export interface Price {
  input: number;
  output: number;
  cached: number;
}

/** A price list with where it comes from. */
export interface PriceBook {
  /** Said beside every amount that was priced with it. */
  version: string;
  source: string;
  /** By the name of the model; a dated name (`claude-sonnet-4-5-20250929`) is found by its beginning. */
  models: Readonly<Record<string, Price>>;
  /** Dollars for one unit of another currency. */
  usdPer: Readonly<Record<string, number>>;
}

const opus = { input: 5, output: 25, cached: 0.5 };
const sonnet = { input: 3, output: 15, cached: 0.3 };
const gpt5 = { input: 1.25, output: 10, cached: 0.125 };
const gpt52 = { input: 1.75, output: 14, cached: 0.175 };

/**
 * List prices of the vendors for use by the API, as published in March 2026. They serve agents that report tokens and no
 * money; `prices.json` in the instance's home stands above them. A model that is not here has no price: its tokens are
 * counted and its money is said to be unknown. A euro counts as a dollar until the file says what it is worth.
 */
export const builtInPrices: PriceBook = {
  version: 'built-in-2026-03',
  source: 'list prices of Anthropic and OpenAI, read in March 2026',
  models: {
    'claude-opus-4-6': opus,
    'claude-opus-4-5': opus,
    'claude-opus-4-1': { input: 15, output: 75, cached: 1.5 },
    'claude-sonnet-4-6': sonnet,
    'claude-sonnet-4-5': sonnet,
    'claude-sonnet-4': sonnet,
    'claude-haiku-4-5': { input: 1, output: 5, cached: 0.1 },
    'gpt-5': gpt5,
    'gpt-5-codex': gpt5,
    'gpt-5.1': gpt5,
    'gpt-5.1-codex': gpt5,
    'gpt-5-mini': { input: 0.25, output: 2, cached: 0.025 },
    'gpt-5.2': gpt52,
    'gpt-5.2-codex': gpt52,
    'gpt-5.3-codex': gpt52,
    'gpt-5.4': { input: 2.5, output: 15, cached: 0.25 },
    'gpt-5.4-mini': { input: 0.75, output: 4.5, cached: 0.075 },
  },
  usdPer: { USD: 1, EUR: 1 },
};

/** The price of a model, by its name or that name with a date behind it; `undefined` = unknown. */
export function priceOf(book: PriceBook, model: string | null): Price | undefined {
  if (model === null) return undefined;
  const name = model.replace(/-?(?:\d{8}|\d{4}-\d{2}-\d{2})$/, '');
  for (const key of [model, name]) if (Object.hasOwn(book.models, key)) return book.models[key];
  return undefined;
}

/** Millionths of a dollar for so many tokens; `input` includes the `cached` ones. */
export function priceTokens(price: Price, tokens: { input: number; output: number; cached: number }): number {
  const cached = Math.min(tokens.cached, tokens.input);
  return Math.ceil((tokens.input - cached) * price.input + cached * price.cached + tokens.output * price.output);
}

/** Reads a price list that an operator wrote over the built-in one; gives it, or one sentence about what is wrong. */
export function readPriceFile(text: string): { book: PriceBook } | { fault: string } {
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    return { fault: 'it is no JSON' };
  }
  if (!isRecord(given)) return { fault: 'it must be an object with version, source and models' };
  const { version, source, models = {}, usdPer = {} } = given;
  if (typeof version !== 'string' || typeof source !== 'string')
    return { fault: 'version (a date) and source must be texts' };
  if (!isRecord(models) || !isRecord(usdPer)) return { fault: 'models and usdPer must be objects' };
  for (const [name, price] of Object.entries(models))
    if (!isRecord(price) || ![price.input, price.output, price.cached].every(isRate))
      return { fault: `models.${name} needs input, output and cached: dollars for a million tokens, 0 or more` };
  for (const [currency, rate] of Object.entries(usdPer))
    if (!isRate(rate) || rate === 0) return { fault: `usdPer.${currency} must be dollars for one unit` };
  return {
    book: {
      version: version.slice(0, 64),
      source: source.slice(0, 200),
      models: { ...builtInPrices.models, ...(models as Record<string, Price>) },
      usdPer: { ...builtInPrices.usdPer, ...(usdPer as Record<string, number>), USD: 1 },
    },
  };
}

function isRate(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 && value <= 1e6;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
