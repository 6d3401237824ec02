/** Tables of `review`. */
// oxlint-disable-next-line typescript/no-empty-object-type -- filled by its migration
export interface ReviewSchema {}
