/** Arguments of torch without a counterpart: advice, and the values that are torch's defaults. */
const unsupported: Readonly<
  Record<string, { readonly advice: string; readonly defaults: readonly unknown[] }>
> = {
  sizeAverage: { advice: "Pass { reduction: 'mean' } or { reduction: 'sum' }.", defaults: [] },
  reduce: { advice: "Pass { reduction: 'none' } for the loss of each element.", defaults: [] },
  device: {
    advice: "Call module.to('cuda'); tensors are copied to the device of their model.",
    defaults: ['cpu'],
  },
  dtype: { advice: 'Parameters are float32. Convert tensors by x.to(dtype).', defaults: ['float32'] },
  returnIndices: { advice: 'Pooling returns no positions.', defaults: [false] },
  maxNorm: { advice: 'Normalize the rows with F.normalize.', defaults: [] },
  normType: { advice: 'Normalize the rows with F.normalize.', defaults: [2] },
  scaleGradByFreq: { advice: 'Gradients are not scaled by frequency.', defaults: [false] },
  out: { advice: 'Operations return new tensors: assign the result.', defaults: [] },
  paddingMode: { advice: 'Pad the input with F.pad.', defaults: ['zeros'] },
  bias: { advice: 'All layers have biases.', defaults: [true] },
  momentum: { advice: 'There are no running statistics.', defaults: [0.1] },
  _stacklevel: { advice: 'Omit it.', defaults: [3] },
  lastEpoch: { advice: 'Call scheduler.loadStateDict(state) to resume.', defaults: [-1] },
  foreach: { advice: 'All parameters are updated by one program.', defaults: [false, true] },
  paddingSide: { advice: 'Sequences are padded at their end.', defaults: ['right'] },
  enableNestedTensor: { advice: 'Omit it.', defaults: [true, false] },
  maskCheck: { advice: 'Omit it.', defaults: [true, false] },
};

/** Defaults of the other arguments. */
const falsy: readonly unknown[] = [false, 0];

/**
 * The reason why a value of an argument cannot be accepted; undefined for torch's default.
 *
 * @param spelling the function, such as `F.relu` or `new nn.ReLU`
 */
export function reasonAgainst(name: string, value: unknown, spelling: string): string | undefined {
  if (name === 'inplace') {
    if (value === false) return undefined;
    return `Tensors do not change: assign the result, as in x = ${spelling}(x).`;
  }
  const { advice, defaults } = unsupported[name] ?? { advice: 'Omit it.', defaults: falsy };
  return defaults.includes(value) ? undefined : advice;
}
