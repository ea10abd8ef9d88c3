import type { GpuAddress, GpuProduct } from '@ringrun/native';
import type { RecurrenceAttributes, RecurrentCell } from '../../../graph/attributes.ts';
import { after, type Kernel, type Lowering, type LoweringFamily } from '../lowering.ts';
import { addressOf, kernelsIn, launchElements, nullPointer } from './launches.ts';
import { sourceOf } from './prelude.ts';
import { refusedElement } from './refusals.ts';

/**
 * Steps of a recurrent network (native/src/operators/recurrent_cell.h has the formulas). Each step is a product of the states with
 * the recurrent weights, by cuBLASLt, and one of these kernels. `cell`: 0 tanh, 1 relu, 2 lstm, 3 gru.
 */
const source = sourceOf(`
__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Arrays of one step: [rows, size], and [rows, gates, size].
struct Step {
  int64 time, steps, size;
  int cell, isReverse, roundsStates;
};

// True if a sequence has ended.
__device__ __forceinline__ bool hasEnded(const int64* lengths, const Step& step, int64 row) { return lengths != nullptr && step.time >= lengths[row]; }

// \`state\` and \`cellState\` are those before the step, and become those after it.
extern "C" __global__ void __launch_bounds__(256) stepForward(const float* gates, const float* products, float* state, float* cellState, float* states,
                                                              float* activations, float* further, const int64* lengths, unsigned long long* refused,
                                                              const __grid_constant__ Step step, int64 count) {
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 size = step.size, row = i / size, column = i % size;
    if (lengths != nullptr && column == 0 && (lengths[row] < 0 || lengths[row] > step.steps)) refuse(refused, row, lengths[row]);
    if (hasEnded(lengths, step, row)) {
      states[i] = 0.0f;
      continue;
    }
    float h;
    if (step.cell < 2) {
      const float sum = gates[i] + products[i];
      h = step.cell == 0 ? tanhf(sum) : sum < 0.0f ? 0.0f : sum;
    } else if (step.cell == 2) {
      const int64 at = row * 4 * size + column;
      const float in = sigmoid(gates[at] + products[at]), forget = sigmoid(gates[at + size] + products[at + size]);
      const float candidate = tanhf(gates[at + 2 * size] + products[at + 2 * size]), out = sigmoid(gates[at + 3 * size] + products[at + 3 * size]);
      const float c = forget * cellState[i] + in * candidate;
      activations[at] = in;
      activations[at + size] = forget;
      activations[at + 2 * size] = candidate;
      activations[at + 3 * size] = out;
      cellState[i] = c;
      further[i] = c;
      h = out * tanhf(c);
    } else {
      const int64 at = row * 3 * size + column;
      const float reset = sigmoid(gates[at] + products[at]), update = sigmoid(gates[at + size] + products[at + size]);
      const float product = products[at + 2 * size];
      const float candidate = tanhf(gates[at + 2 * size] + reset * product);
      activations[at] = reset;
      activations[at + size] = update;
      activations[at + 2 * size] = candidate;
      further[i] = product;
      h = (1.0f - update) * candidate + update * state[i];
    }
    if (step.roundsStates) h = bfloat16(h);
    state[i] = h;
    states[i] = h;
  }
}

// \`dState\` and \`dCell\` are the gradients from later steps, and become the parts of those before the step that involve no weight.
extern "C" __global__ void __launch_bounds__(256) stepBackward(const float* states, const float* firstState, const float* firstCell,
                                                               const int64* lengths, const float* activations, const float* further,
                                                               const float* dStates, float* dState, float* dCell, float* dGates, float* dProducts,
                                                               float* previous, const __grid_constant__ Step step, int64 count) {
  const int64 size = step.size;
  const int gateCount = step.cell == 2 ? 4 : step.cell == 3 ? 3 : 1;
  for (int64 i = firstElement(); i < count; i += gridStride()) {
    const int64 row = i / size, column = i % size;
    const int64 now = step.time * count + i;
    const int64 at = (step.time * (count / size) + row) * gateCount * size + column;
    if (hasEnded(lengths, step, row)) {
      for (int gate = 0; gate < gateCount; ++gate) {
        dGates[at + gate * size] = 0.0f;
        if (step.cell == 3) dProducts[at + gate * size] = 0.0f;
      }
      previous[now] = 0.0f;
      continue;
    }
    const int64 length = lengths == nullptr ? step.steps : lengths[row];
    const bool isFirst = step.time == (step.isReverse ? length - 1 : 0);
    const int64 before = now + (step.isReverse ? count : -count);
    const float earlier = isFirst ? firstState[i] : states[before];
    previous[now] = earlier;
    const float d = dState[i] + (dStates == nullptr ? 0.0f : dStates[now]);
    if (step.cell < 2) {
      const float h = states[now];
      dGates[at] = step.cell == 0 ? d * (1.0f - h * h) : h <= 0.0f ? 0.0f : d;
      dState[i] = 0.0f;
    } else if (step.cell == 2) {
      const float in = activations[at], forget = activations[at + size], candidate = activations[at + 2 * size], out = activations[at + 3 * size];
      const float c = tanhf(further[now]);
      const float dAll = dCell[i] + d * out * (1.0f - c * c);
      dGates[at] = dAll * candidate * in * (1.0f - in);
      dGates[at + size] = dAll * (isFirst ? firstCell[i] : further[before]) * forget * (1.0f - forget);
      dGates[at + 2 * size] = dAll * in * (1.0f - candidate * candidate);
      dGates[at + 3 * size] = d * c * out * (1.0f - out);
      dCell[i] = dAll * forget;
      dState[i] = 0.0f;
    } else {
      const float reset = activations[at], update = activations[at + size], candidate = activations[at + 2 * size];
      const float dCandidate = d * (1.0f - update) * (1.0f - candidate * candidate);
      const float dReset = dCandidate * further[now] * reset * (1.0f - reset);
      const float dUpdate = d * (earlier - candidate) * update * (1.0f - update);
      dGates[at] = dReset;
      dGates[at + size] = dUpdate;
      dGates[at + 2 * size] = dCandidate;
      dProducts[at] = dReset;
      dProducts[at + size] = dUpdate;
      dProducts[at + 2 * size] = dCandidate * reset;
      dState[i] = d * update;
    }
  }
}
`);

const kernels = kernelsIn('recurrence.cu', source, ['stepForward', 'stepBackward']);

export const recurrenceKernels: readonly Kernel[] = Object.values(kernels);

const cells: Readonly<Record<RecurrentCell, number>> = { tanh: 0, relu: 1, lstm: 2, gru: 3 };

export const recurrences: LoweringFamily<'Recurrence' | 'RecurrenceGradient'> = {
  Recurrence: ({ inputs, outputs, attributes }, lowering) => {
    const { cell, hasBias, hasLengths } = attributes;
    const [gates, weight, first, ...rest] = inputs;
    const [steps, rows, width] = gates.shape;
    const [size] = weight.shape.slice(1);
    const isLstm = cell === 'lstm';
    const firstCell = isLstm ? rest.shift() : undefined;
    const bias = hasBias ? rest.shift() : undefined;
    const lengths = addressOf(lowering, hasLengths ? rest.shift() : undefined);
    const [states, last, ...others] = outputs.map((output) => lowering.at(output));
    const lastCell = isLstm ? others[0] : undefined;
    const [activations, further] = cell === 'lstm' || cell === 'gru' ? others.slice(-2) : [];
    const count = rows * size;
    if (count === 0) return;
    copy(lowering, lowering.at(first), last, 4 * count);
    if (firstCell && lastCell) copy(lowering, lowering.at(firstCell), lastCell, 4 * count);
    const products = lowering.scratch(4 * rows * width);
    const refused = lowering.refusal((found) => {
      const { got } = refusedElement(found);
      return `expected lengths from 0 to ${steps}, got ${got}`;
    });
    const product: GpuProduct = {
      ...{
        kind: 'product',
        name: 'recurrence',
        dtype: 'float32',
        tf32: lowering.settings.tf32.products,
        m: rows,
        n: width,
        k: size,
      },
      ...{
        left: { at: last },
        right: { at: lowering.at(weight), transposed: true },
        result: { at: products },
      },
      ...(bias && { bias: lowering.at(bias) }),
    };
    for (const time of timesOf(steps, attributes)) {
      const ofStep = (address: GpuAddress | undefined, perRow: number) =>
        address ? after(address, 4 * time * rows * perRow) : nullPointer;
      lowering.add(product);
      const arrays = [ofStep(lowering.at(gates), width), products, last, lastCell ?? nullPointer];
      const results = [ofStep(states, size), ofStep(activations, width), ofStep(further, size)];
      const args = [...arrays, ...results, lengths, refused, stepOf(time, steps, size, attributes)];
      launchElements(lowering, kernels.stepForward, count, args);
    }
  },
  RecurrenceGradient: ({ inputs, outputs, attributes }, lowering) => {
    const { cell, hasLengths, given } = attributes;
    const saves = cell === 'lstm' || cell === 'gru';
    const rest = [...inputs];
    const next = (isThere: boolean) => (isThere ? lowering.at(rest.shift()!) : undefined);
    const [states, weight, first] = [next(true)!, next(true)!, next(true)!];
    const [firstCell, lengths] = [next(cell === 'lstm'), next(hasLengths)];
    const [activations, further] = [next(saves), next(saves)];
    const [dStates, dLast, dLastCell] = given.map(next);
    const [dGates, dProducts, previous, dState, dCell] = outputs.map((output) => lowering.at(output));
    const [steps, rows, width] = outputs[0].shape;
    const [size] = inputs[1].shape.slice(1);
    const count = rows * size;
    if (count === 0) return;
    copy(lowering, dLast, dState, 4 * count);
    copy(lowering, dLastCell, dCell, 4 * count);
    const orNull = (address: GpuAddress | undefined) => address ?? nullPointer;
    const read = [states, first, ...[firstCell, lengths, activations, further, dStates].map(orNull)];
    for (const time of timesOf(steps, attributes).toReversed()) {
      const args = [
        ...read,
        dState,
        dCell,
        dGates,
        dProducts,
        previous,
        stepOf(time, steps, size, attributes),
      ];
      launchElements(lowering, kernels.stepBackward, count, args);
      lowering.add({
        ...{ kind: 'product', name: 'recurrenceGradient', dtype: 'float32', m: rows, n: size, k: width },
        tf32: lowering.settings.tf32.products,
        left: { at: after(cell === 'gru' ? dProducts : dGates, 4 * time * rows * width) },
        ...{ right: { at: weight }, result: { at: dState }, start: { at: dState } },
      });
    }
  },
};

/** Copies an array, or fills the target with 0. */
function copy(lowering: Lowering, from: GpuAddress | undefined, to: GpuAddress, bytes: number): void {
  if (from) lowering.add({ kind: 'copy', name: 'firstState', from, to, bytes });
  else lowering.add({ kind: 'fill', name: 'noGradient', at: to, bytes });
}

function timesOf(steps: number, { reverse }: RecurrenceAttributes): number[] {
  return Array.from({ length: steps }, (_, index) => (reverse ? steps - 1 - index : index));
}

/** The struct Step. */
function stepOf(time: number, steps: number, size: number, attributes: RecurrenceAttributes) {
  const { cell, reverse, roundsStates = false } = attributes;
  const bytes = new Uint8Array(40);
  bytes.set(new Uint8Array(BigInt64Array.of(...[time, steps, size].map(BigInt)).buffer));
  bytes.set(new Uint8Array(Int32Array.of(cells[cell], Number(reverse), Number(roundsStates)).buffer), 24);
  return { bytes };
}
