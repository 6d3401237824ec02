/** Tables of `sessions`. */
// oxlint-disable-next-line typescript/no-empty-object-type -- filled by its migration
export interface SessionsSchema {}
