/** Event kinds of `ledger`, each with one line for the docs. */
export const ledgerEvents = {} as const;
