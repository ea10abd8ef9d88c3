/** A stream that may be a terminal. */
export interface Output extends NodeJS.WritableStream {
  /** True for a terminal, which gets a progress bar; otherwise lines are written. */
  isTTY?: boolean;
  /** Width of the terminal in characters. Default: 80. */
  columns?: number;
}
