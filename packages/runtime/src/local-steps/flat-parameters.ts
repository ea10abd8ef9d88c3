import type { DistributedParameter, ElementRange } from '@ringrun/core';

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
    let at = 0;
    for (const view of this.views(range)) {
      into.set(view, at);
      at += view.length;
    }
  }

  /** Replaces the values of a range. */
  write(range: ElementRange, values: Float32Array): void {
    let at = 0;
    for (const view of this.views(range)) {
      view.set(values.subarray(at, at + view.length));
      at += view.length;
    }
  }
}
