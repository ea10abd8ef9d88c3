import { ArgumentError } from '../../errors/errors.ts';
import { requireOptions, type OptionNames } from '../../checks/require-options.ts';
import type { ExportInput, ExportOptions } from './export-options.ts';
import { dynamicDimension, type DimensionPlace } from './dynamic-sizes.ts';
import type { Dimension } from '../../onnx-format/graph-builder.ts';
import { batchSizes, SizeSamples, sizesUpTo } from './size-samples.ts';

export type CompleteInput = Required<Omit<ExportInput, 'fixed'>>;

const inputOptionNames: OptionNames<ExportInput> = {
  name: true,
  shape: true,
  dtype: true,
  fixed: true,
  dynamicAxes: true,
};

/** Returns the inputs, validated and with defaults. */
export function inputsOf({ inputShape, inputName, inputs }: ExportOptions): CompleteInput[] {
  if ((inputShape === undefined) === (inputs === undefined) || inputs?.length === 0) {
    throw new ArgumentError(
      'exportOnnx: expected either inputShape (one float32 input) or inputs, a list of { name, shape, dtype }.',
    );
  }
  if (inputs !== undefined && inputName !== undefined) {
    throw new ArgumentError(
      'exportOnnx: inputName requires inputShape. With inputs, write inputs: [{ name, … }].',
    );
  }
  const given: readonly ExportInput[] = inputs ?? [
    { shape: inputShape!, ...(inputName !== undefined && { name: inputName }) },
  ];
  return given.map((input, index) => {
    requireOptions(`exportOnnx: inputs[${index}]`, input, inputOptionNames);
    const { name = given.length === 1 ? 'input' : `input_${index}`, shape, dtype = 'float32' } = input;
    const fixed = input.fixed ?? shape.length === 0;
    const valid = Array.isArray(shape) && shape.every((size) => Number.isInteger(size) && size >= 1);
    if (!valid || (!fixed && shape.length === 0)) {
      throw new ArgumentError(
        `exportOnnx: the shape of ${name} must be a list of sizes of at least 1, got ${JSON.stringify(shape)}.`,
      );
    }
    if (!['float32', 'int64'].includes(dtype)) {
      throw new ArgumentError(
        `exportOnnx: the dtype of ${name} must be 'float32' or 'int64', got '${dtype}'.`,
      );
    }
    const dynamicAxes = input.dynamicAxes ?? (fixed ? {} : { 0: 'batch' });
    requireAxes(name, shape, dynamicAxes);
    return { name, shape, dtype, dynamicAxes };
  });
}

function requireAxes(
  name: string,
  shape: readonly number[],
  dynamicAxes: CompleteInput['dynamicAxes'],
): void {
  for (const [axis, size] of Object.entries(dynamicAxes)) {
    if (!(Number(axis) in shape) || typeof (size as unknown) !== 'string' || !/^[A-Za-z_]\w*$/.test(size)) {
      throw new ArgumentError(
        `exportOnnx: dynamicAxes of ${name} must name dimensions from 0 to ${shape.length - 1}, as in { 0: 'batch', 1: 'length' }, got ${JSON.stringify(dynamicAxes)}.`,
      );
    }
    if (Number(axis) > 0 && shape[Number(axis)] < 4) {
      throw new ArgumentError(
        `exportOnnx: the dynamic dimension ${axis} of ${name} must have its largest size, at least 4, got ${shape[Number(axis)]}.`,
      );
    }
  }
}

/** The sizes for which `forward` is called, and whether it must accept them. */
export function samplesOf(inputs: readonly CompleteInput[]): ReturnType<typeof SizeSamples.of> {
  return SizeSamples.of(
    Array.from(firstPlaces(inputs), ([name, { input, axis }]) => {
      const given = input.shape[axis];
      const { required, optional } = axis === 0 ? batchSizes(given) : sizesUpTo(given);
      // Another input may have a multiple of the batch.
      const isWhole = (size: number) =>
        inputs.every(({ shape, dynamicAxes }) =>
          shape.every((own, other) => dynamicAxes[other] !== name || (size * own) % given === 0),
        );
      return { name, required, optional: optional.filter(isWhole) };
    }),
  );
}

/** A dimension of an input for each size. */
export function placesOf({ names }: SizeSamples, inputs: readonly CompleteInput[]): DimensionPlace[] {
  const places = firstPlaces(inputs);
  return names.map((name) => {
    const { input, axis } = places.get(name)!;
    return { input: input.name, axis };
  });
}

/** The shape of an input in a call of `forward`. A batch that is a multiple of the first one stays a multiple. */
export function shapeInCall(
  input: CompleteInput,
  inputs: readonly CompleteInput[],
  samples: SizeSamples,
  call: number,
): number[] {
  const places = firstPlaces(inputs);
  return input.shape.map((size, axis) => {
    const name = input.dynamicAxes[axis] as string | undefined;
    if (name === undefined) return size;
    const first = places.get(name)!;
    return (samples.calls[call][samples.names.indexOf(name)] * size) / first.input.shape[first.axis];
  });
}

/** The shape of an input in the exported model. */
export function describedShape(
  input: CompleteInput,
  inputs: readonly CompleteInput[],
  samples: SizeSamples,
): Dimension[] {
  const shapes = samples.calls.map((_, call) => shapeInCall(input, inputs, samples, call));
  return input.shape.map((_, axis) =>
    dynamicDimension(
      samples,
      shapes.map((shape) => shape[axis]),
    ),
  );
}

/** The first dimension with each name, and the size that all its dimensions share; a batch may be a multiple of the first one. */
function firstPlaces(inputs: readonly CompleteInput[]): Map<string, Place> {
  const places = new Map<string, Place>();
  for (const input of inputs) {
    for (const [axis, name] of Object.entries(input.dynamicAxes)) {
      const first = places.get(name);
      if (first === undefined) places.set(name, { input, axis: Number(axis) });
      else requireOneSize(name, first, { input, axis: Number(axis) });
    }
  }
  return places;
}

interface Place {
  readonly input: CompleteInput;
  readonly axis: number;
}

function requireOneSize(name: string, first: Place, other: Place): void {
  const [size, own] = [first, other].map(({ input, axis }) => input.shape[axis]);
  const isBatch = first.axis === 0 && other.axis === 0;
  if (size === own || isBatch) return;
  throw new ArgumentError(
    `exportOnnx: the dimensions named ${name} must have one size, got ${size} for ${first.input.name} and ${own} for ${other.input.name}.`,
  );
}
