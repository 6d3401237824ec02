/** Event kinds of `access`, each with one line for the docs. */
export const accessEvents = {} as const;
