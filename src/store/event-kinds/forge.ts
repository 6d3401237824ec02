/** Event kinds of `forge`, each with one line for the docs. */
export const forgeEvents = {} as const;
