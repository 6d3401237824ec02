/** Event kinds of `sessions`, each with one line for the docs. */
export const sessionsEvents = {} as const;
