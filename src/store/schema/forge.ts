/** Tables of `forge`. */
// oxlint-disable-next-line typescript/no-empty-object-type -- filled by its migration
export interface ForgeSchema {}
