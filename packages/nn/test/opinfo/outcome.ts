import { isFloat } from '../../src/dtype.ts';
import { autograd, NnError, Parameter, zerosLike, type DType, type Tensor } from '../../src/index.ts';
import { tensorOf } from '../../src/tensor/creation.ts';
import { fill } from '../support/fill.ts';
import { difference } from './compare.ts';
import { NoCounterpart } from './given.ts';
import { callModule, moduleOf } from './modules.ts';
import { callOperation, tensorsOf, type Result } from './operation.ts';
import { operations } from './operations/index.ts';
import { trainedBy } from './optimizers.ts';
import { excuseOf, reasonOf } from './reasons.ts';
import { decode, decodeDict, type Decoded, type Encoded, type EncodedTensor, type Sample } from './sample.ts';

/** The outcome of a sample. */
export type Outcome =
  | { readonly kind: 'equal' }
  | { readonly kind: 'refused' | 'excused'; readonly reason: string }
  | { readonly kind: 'different'; readonly how: string };

/** Runs a sample with ringrun, forward and backward, and compares the results with torch's. */
export async function outcomeOf(sample: Sample): Promise<Outcome> {
  try {
    const how = await differenceOf(sample);
    if (how === undefined) return { kind: 'equal' };
    const excuse = excuseOf(sample, how);
    return excuse === undefined ? { kind: 'different', how } : { kind: 'excused', reason: excuse };
  } catch (error) {
    if (error instanceof NoCounterpart)
      return { kind: 'refused', reason: `No counterpart: ${error.message}.` };
    const isRefusal =
      error instanceof NnError && (error.code === 'ERR_SHAPE' || error.code === 'ERR_ARGUMENT');
    if (isRefusal && sample.error !== undefined) return { kind: 'equal' };
    const reason = isRefusal ? reasonOf(error.message) : undefined;
    if (reason !== undefined) return { kind: 'refused', reason };
    return { kind: 'different', how: String(error).split('\n')[0] };
  }
}

/** Operations of a product of products, whose parts torch rounds too. */
const ofProducts = /scaled_dot_product_attention/;

async function differenceOf(sample: Sample): Promise<string | undefined> {
  if (/\b(an|type) int\b.*\bfloat\b/.test(sample.error ?? '')) {
    throw new NoCounterpart('a float such as 2.0 in place of an integer: JavaScript does not tell it from 2');
  }
  const trained: Parameter[] = [];
  const result = await resultOf(sample, trained);
  if (sample.error !== undefined) {
    for (const one of tensorsOf(result)) await one.array();
    return `computed, torch: ${sample.error}`;
  }
  const outputs = outputsOf(result);
  const expected = sample.outputs!;
  if (outputs.length < expected.length && !sample.name.startsWith('module')) {
    return `${outputs.length} outputs, torch ${expected.length}`;
  }
  const { name, dtype, values } = sample;
  const isElementwise = values === 'special values' || (dtype === 'bfloat16' && !ofProducts.test(name));
  const open = openOutputs(sample);
  for (const [place, one] of expected.entries()) {
    if (one === null || typeof one !== 'object' || !('tensor' in one))
      throw new NoCounterpart(`outputs of ${describe(one)}`);
    const output = outputs[place];
    const found = { dtype: output.dtype, shape: output.shape, data: await output.array() };
    if (open.includes(place)) {
      if (found.shape.join() === one.shape.join() && found.dtype === one.tensor) continue;
    }
    const how = difference(`output ${place}`, found, one, { isElementwise });
    if (how !== undefined) return how;
  }
  const isGradientElementwise = values === 'special values' && dtype !== 'bfloat16';
  return gradientDifference(sample, outputs.slice(0, expected.length), trained, isGradientElementwise);
}

const describe = (value: Encoded): string =>
  value !== null && typeof value === 'object' && 'other' in value ? value.other : 'another dtype';

/** Positions of equal elements are torch's choice; only its float32 samples have no equal elements. */
function openOutputs({ name, values, dtype }: Pick<Sample, 'name' | 'values' | 'dtype'>): readonly number[] {
  if (values === 'samples' && dtype === 'float32') return [];
  return new Map(Object.entries(operations)).get(name.slice(3))?.open ?? [];
}

async function resultOf(sample: Sample, trained: Parameter[]): Promise<Result> {
  const [kind, name] = sample.name.split(' ');
  if (kind === 'op') {
    return callOperation(operations[name], decode(sample.arguments, trained) as readonly Decoded[]);
  }
  const args = decodeDict(dictOf(sample.constructor), []);
  if (kind === 'optimizer') {
    return trainedBy(name, decode(sample.arguments, trained) as Parameter[], args);
  }
  const given = decodeDict(dictOf(sample.arguments), trained);
  const state = dictOf(sample.state!) as Readonly<Record<string, EncodedTensor>>;
  const module = moduleOf(name, args, { training: sample.training!, state }, trained);
  return callModule(name, module, given);
}

function dictOf(value: Encoded): Readonly<Record<string, Encoded>> {
  return value !== null && typeof value === 'object' && 'dict' in value ? value.dict : {};
}

function outputsOf(result: Result): Tensor[] {
  if (typeof result === 'number') return [tensorOf('float32', [], Float32Array.of(result))];
  return tensorsOf(result);
}

/** Of the outputs' sum weighed by `fill`. */
async function gradientDifference(
  { gradients = [], ...sample }: Sample,
  outputs: readonly Tensor[],
  trained: readonly Parameter[],
  isElementwise: boolean,
): Promise<string | undefined> {
  if (gradients.length === 0 || sample.name.startsWith('optimizer')) return undefined;
  // torch also chooses which of equal elements receives the gradient.
  if (openOutputs(sample).length > 0) return undefined;
  const weighed = weighedSums(outputs, sample.dtype);
  for (const one of trained) one.zeroGrad();
  if (weighed.length > 0) await weighed.reduce((a, b) => a.add(b)).backward();
  for (const [place, expected] of gradients.entries()) {
    const { grad, shape } = trained[place];
    const data = grad ?? new Float32Array(expected.shape.reduce((a, b) => a * b, 1));
    const found = { dtype: expected.tensor, shape, data };
    const how = difference(`gradient ${place}`, found, expected, { isElementwise });
    if (how !== undefined) return how;
  }
  return undefined;
}

function weighedSums(outputs: readonly Tensor[], dtype: DType, seed = 50): Tensor[] {
  return outputs.flatMap((one, place) =>
    isFloat(one) && one.requiresGrad
      ? [
          one
            .mul(weightsOf(one.shape, seed + place, dtype).to(one.dtype))
            .float()
            .sum(),
        ]
      : [],
  );
}

/** The outcome of a sample whose gradients are second derivatives. */
export async function secondOutcomeOf(sample: Sample): Promise<Outcome> {
  if (sample.error !== undefined) return { kind: 'refused', reason: `torch: ${sample.error}` };
  try {
    const how = await secondDifference(sample);
    return how === undefined ? { kind: 'equal' } : { kind: 'different', how };
  } catch (error) {
    if (error instanceof NoCounterpart) return { kind: 'refused', reason: error.message };
    if (!(error instanceof NnError)) throw error;
    const isRefusal = error.code === 'ERR_SHAPE' || error.code === 'ERR_ARGUMENT';
    // The other samples' table has the reasons.
    if (isRefusal) return { kind: 'refused', reason: error.message };
    return { kind: 'different', how: String(error).split('\n')[0] };
  }
}

/** Of the sum of the gradients weighed by `fill`. */
async function secondDifference({ gradients = [], ...sample }: Sample): Promise<string | undefined> {
  const trained: Parameter[] = [];
  const outputs = outputsOf(await resultOf(sample, trained)).slice(0, sample.outputs!.length);
  const loss = summed(weighedSums(outputs, 'float32'));
  if (gradients.length === 0 || loss === undefined) return undefined;
  const options = { createGraph: true, materializeGrads: true };
  const slopes = summed(weighedSums(autograd.grad(loss, trained, options), 'float32', 90));
  const found = slopes ? autograd.grad(slopes, trained, options) : trained.map((one) => zerosLike(one));
  for (const [place, expected] of gradients.entries()) {
    const { dtype, shape } = found[place];
    const data = await found[place].array();
    const how = difference(`second derivative ${place}`, { dtype, shape, data }, expected, {
      ofLargest: 2e-5,
    });
    if (how !== undefined) return how;
  }
  return undefined;
}

function summed(parts: readonly Tensor[]): Tensor | undefined {
  return parts.length === 0 ? undefined : parts.reduce((a, b) => a.add(b));
}

function weightsOf(shape: readonly number[], seed: number, dtype: DType): Tensor {
  const weights = tensorOf('float32', shape, fill(shape, seed));
  return dtype === 'bfloat16' ? weights.bfloat16() : weights;
}
