/** Event kinds of `review`, each with one line for the docs. */
export const reviewEvents = {} as const;
