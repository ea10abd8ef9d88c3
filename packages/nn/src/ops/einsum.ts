import { ShapeError } from '../errors/errors.ts';
import type { Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { matmul } from './linear-algebra.ts';
import { mul } from './elementwise.ts';
import { indexSelect } from './indexing.ts';
import { reduceSum } from './reduction.ts';
import { expand, reshape, transpose } from './shape.ts';

/** A value whose axes have labels. The dots of an equation become labels too. */
interface Labelled {
  readonly value: Value;
  readonly labels: readonly string[];
}

/**
 * Sums products of elements, by Einstein's notation (torch.einsum). The operands are multiplied from left to right, each
 * pair by one product of matrices.
 */
export function einsum(equation: string, operands: readonly Value[]): Value {
  const { inputs, output } = parse(equation, operands);
  const sizes = sizesOf(equation, inputs);
  const last = new Map(inputs.flatMap(({ labels }, place) => labels.map((label) => [label, place])));
  let product = withoutRepeats(inputs[0]);
  for (const [place, next] of inputs.entries()) {
    if (place > 0) product = contracted(product, withoutRepeats(next), place, last, output);
  }
  return arranged(product, output, sizes);
}

function parse(equation: string, operands: readonly Value[]): { inputs: Labelled[]; output: string[] } {
  const sides = equation.replaceAll(' ', '').split('->');
  const terms = sides[0].split(',');
  const isValid = [...terms, ...sides.slice(1)].every((term) => /^[A-Za-z]*(\.\.\.)?[A-Za-z]*$/.test(term));
  if (!isValid || sides.length > 2 || terms.length !== operands.length) {
    throw new ShapeError(
      `einsum: expected an equation such as 'ij,jk->ik' with ${operands.length} operands, got '${equation}'.`,
    );
  }
  const inputs = operands.map((value, place) => labelled(value, terms[place]));
  const all = inputs.flatMap(({ labels }) => labels);
  const dots = dotLabels(
    Math.max(0, ...all.map((label) => (label.startsWith('.') ? Number(label.slice(1)) : 0))),
  );
  const output = sides.length === 1 ? [...dots, ...lettersOnce(all)] : labelsOf(sides[1], dots);
  if (output.some((label) => !all.includes(label)) || new Set(output).size < output.length) {
    throw new ShapeError(
      `einsum: expected letters of the operands after '->', each once, got '${equation}'.`,
    );
  }
  return { inputs, output };
}

function labelled(value: Value, term: string): Labelled {
  const letters = term.replace('...', '').length;
  const labels = labelsOf(term, dotLabels(Math.max(0, value.shape.length - letters)));
  if (labels.length !== value.shape.length) {
    throw new ShapeError(
      `einsum: expected an operand with the dimensions '${term}', got ${describeType(value)}.`,
    );
  }
  return { value, labels };
}

/**
 * Labels of the dimensions of `...`, which no equation can contain: the last dimension is .1, because broadcasting aligns from
 * the last.
 */
function dotLabels(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `.${count - i}`);
}

function labelsOf(term: string, dots: readonly string[]): string[] {
  const [before, after] = term.split('...').map((part) => Array.from(part));
  return term.includes('...') ? [...before, ...dots, ...after] : before;
}

function lettersOnce(all: readonly string[]): string[] {
  const once = all.filter((label) => all.indexOf(label) === all.lastIndexOf(label));
  return once.filter((label) => !label.startsWith('.')).sort();
}

/** The length of each letter; 1 broadcasts. */
function sizesOf(equation: string, inputs: readonly Labelled[]): Map<string, number> {
  const sizes = new Map<string, number>();
  for (const { value, labels } of inputs) {
    for (const [axis, label] of labels.entries()) {
      const size = value.shape[axis];
      const known = sizes.get(label) ?? 1;
      if (known !== size && known !== 1 && size !== 1) {
        const name = label.startsWith('.') ? '...' : label;
        throw new ShapeError(
          `einsum: expected one length of '${name}' in '${equation}', got ${known} and ${size}.`,
        );
      }
      sizes.set(label, broadcastLength(known, size));
    }
  }
  return sizes;
}

function broadcastLength(a: number, b: number): number {
  return a === 1 ? b : a;
}

/** Takes the diagonal of axes with the same letter. */
function withoutRepeats({ value, labels }: Labelled): Labelled {
  const label = labels.find((one, axis) => labels.indexOf(one) < axis);
  if (label === undefined) return { value, labels };
  const [first, second] = [labels.indexOf(label), labels.lastIndexOf(label)];
  const others = [...labels.keys()].filter((axis) => axis !== first && axis !== second);
  const size = value.shape[first];
  if (size !== value.shape[second]) {
    throw new ShapeError(
      `einsum: expected equal lengths of '${label}' for a diagonal, got ${describeType(value)}.`,
    );
  }
  const leading = others.map((axis) => value.shape[axis]);
  const flat = reshape(transpose(value, [...others, first, second]), [...leading, size * size]);
  const places = Array.from({ length: size }, (_, i) => i * (size + 1));
  const diagonal = indexSelect(flat, leading.length, places);
  return withoutRepeats({ value: diagonal, labels: [...others.map((axis) => labels[axis]), label] });
}

/** The product of two operands, summed over the letters that occur neither in a later operand nor in the output. */
function contracted(
  a: Labelled,
  b: Labelled,
  place: number,
  last: ReadonlyMap<string, number>,
  output: readonly string[],
): Labelled {
  const stays = (label: string) => output.includes(label) || last.get(label)! > place;
  const [left, right] = [summedUnless(a, b, stays), summedUnless(b, a, stays)];
  const shared = left.labels.filter((label) => right.labels.includes(label));
  const batch = shared.filter(stays);
  const inner = shared.filter((label) => !stays(label));
  const rows = left.labels.filter((label) => !shared.includes(label));
  const columns = right.labels.filter((label) => !shared.includes(label));
  const labels = [...batch, ...rows, ...columns];
  if (inner.length === 0) {
    const of = (one: Labelled) => ({ value: spread(one, labels), labels });
    return { value: mul(of(left).value, of(right).value), labels };
  }
  const sizes = new Map([...sizesIn(left), ...sizesIn(right)]);
  for (const label of shared) {
    sizes.set(label, broadcastLength(sizesIn(left).get(label)!, sizesIn(right).get(label)!));
  }
  const lengths = (some: readonly string[]) => some.map((label) => sizes.get(label)!);
  const matrixOf = (one: Labelled, first: readonly string[], second: readonly string[]) =>
    reshape(arranged(one, [...batch, ...first, ...second], sizes), [
      sizeOf(lengths(batch)),
      sizeOf(lengths(first)),
      sizeOf(lengths(second)),
    ]);
  const product = matmul(matrixOf(left, rows, inner), matrixOf(right, inner, columns));
  return { value: reshape(product, lengths(labels)), labels };
}

/** Sums over letters that occur only in this operand. */
function summedUnless(one: Labelled, other: Labelled, stays: (label: string) => boolean): Labelled {
  const isSummed = (label: string) => !stays(label) && !other.labels.includes(label);
  const axes = [...one.labels.keys()].filter((axis) => isSummed(one.labels[axis]));
  if (axes.length === 0) return one;
  return {
    value: reduceSum(one.value, axes),
    labels: one.labels.filter((label) => !isSummed(label)),
  };
}

/** Axes in the order of `output`, with the given lengths; letters that do not occur in it are summed. */
function arranged(one: Labelled, output: readonly string[], sizes: ReadonlyMap<string, number>): Value {
  const summed = summedUnless(one, { value: one.value, labels: [] }, (label) => output.includes(label));
  return expand(
    spread(summed, output),
    output.map((label) => sizes.get(label)!),
  );
}

/** Axes in the order of `labels`, with 1 for those that the operand does not have. */
function spread({ value, labels: own }: Labelled, labels: readonly string[]): Value {
  const known = labels.filter((label) => own.includes(label));
  const ordered = transpose(
    value,
    known.map((label) => own.indexOf(label)),
  );
  let axis = 0;
  return reshape(
    ordered,
    labels.map((label) => (own.includes(label) ? ordered.shape[axis++] : 1)),
  );
}

function sizesIn({ value, labels }: Labelled): Map<string, number> {
  return new Map(labels.map((label, axis) => [label, value.shape[axis]]));
}
