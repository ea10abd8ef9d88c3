/** Samples that can be asked for by index, as torch.utils.data.Dataset. */
export interface Dataset<Sample> {
  /** How many samples there are; does not change. */
  readonly length: number;

  /** The sample at `index`, 0 to `length` - 1: the same one each time, whatever was asked for before. */
  at(index: number): Sample;
}
