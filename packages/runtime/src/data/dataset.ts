/** Samples that can be asked for by index, as torch.utils.data.Dataset. */
export interface Dataset<Sample> {
  /** How many samples there are; does not change. */
  readonly length: number;

  /** The sample at `index`, 0 to `length` - 1: the same one each time, whatever was asked for before. */
  at(index: number): Sample;

  /**
   * The samples at `indices`, where that costs less than one `at` for each: reading them together, or placing them in one array
   * (torch's `__getitems__`). DataLoader asks for a batch at a time, and keeps the samples' arrays as the batch's own.
   */
  atAll?(indices: readonly number[]): Sample[];
}
