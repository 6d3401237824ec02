/** Event kinds of `gate`, each with one line for the docs. */
export const gateEvents = {} as const;
