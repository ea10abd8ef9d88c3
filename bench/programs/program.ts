/** A training program: {@link Program.step} trains one step as its Python counterpart does. */
export interface Program {
  /** Trains one step. Resolves with its loss. */
  readonly step: () => Promise<number>;
  /** A number that falls as the program learns. Default: the last loss. */
  readonly score?: () => Promise<number>;
}
