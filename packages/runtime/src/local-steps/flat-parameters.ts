import type { DistributedParameter, ElementRange } from '@ringrun/core';
import { joinArrays, splitArray } from '../ddp/joined-arrays.ts';

/** The trained parameters of a model as one sequence of numbers, in order of definition. */
export class FlatParameters {
  readonly length: number;
  readonly #places: readonly { parameter: DistributedParameter; begin: number; end: number }[];

  constructor(parameters: readonly DistributedParameter[]) {
    let length = 0;
    this.#places = parameters.map((parameter) => {
      const begin = length;
      length += parameter.data.length;
      return { parameter, begin, end: length };
    });
    this.length = length;
  }

  /** The current values of a range: views of the parameters' arrays, in order. */
  views({ begin, end }: ElementRange): Float32Array[] {
    return this.#places
      .filter((place) => place.begin < end && place.end > begin)
      .map((place) =>
        place.parameter.data.subarray(
          Math.max(0, begin - place.begin),
          Math.min(place.end, end) - place.begin,
        ),
      );
  }

  /** Copies the values of a range to an array of its length. */
  read(range: ElementRange, into: Float32Array): void {
    joinArrays(this.views(range), into);
  }

  /** Replaces the values of a range. */
  write(range: ElementRange, values: Float32Array): void {
    splitArray(values, this.views(range));
  }
}
