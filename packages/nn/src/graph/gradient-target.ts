/** Gets the elements of the gradient that a backward pass has computed. */
export interface GradientTarget {
  receive(elements: Float32Array): void;
}

/** `CustomGradient` of custom-gradient.ts, which knows values; the table of operators does not. */
export type UntypedGradient = (gradients: readonly never[]) => readonly unknown[];
