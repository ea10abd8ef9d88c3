/** ONNX's coordinate_transformation_mode: position of a resized element among the original ones. */
export type Coordinates =
  | ('half_pixel' | 'half_pixel_symmetric' | 'pytorch_half_pixel' | 'align_corners')
  | ('asymmetric' | 'tf_half_pixel_for_nn' | 'tf_crop_and_resize');

/** An axis that is resized. */
export interface Axis {
  /** Its elements before. */
  readonly length: number;
  /** Its elements after. */
  readonly size: number;
  /** The scale of the node; undefined: size / length. */
  readonly scale: number | undefined;
  /** The part that is resized, from 0 to 1, for tf_crop_and_resize. */
  readonly crop: readonly [start: number, end: number];
}

/** Rounds a coordinate like the node's scales, because the nearest element at a tie depends on it. */
const round = Math.fround;

/** Position of each resized element among the original ones. */
export function placesOf(axis: Axis, coordinates: Coordinates): number[] {
  const { length, size, scale, crop } = axis;
  // A quotient of integers is exact where it is an integer; a quotient with a rounded scale is not.
  const unscaled = (place: number) => (scale === undefined ? (place * length) / size : round(place / scale));
  const place = (index: number): number => {
    switch (coordinates) {
      case 'half_pixel':
        return unscaled(index + 0.5) - 0.5;
      case 'half_pixel_symmetric': {
        const adjustment = scale === undefined ? 1 : size / (scale * length);
        return (length / 2) * (1 - adjustment) + unscaled(index + 0.5) - 0.5;
      }
      case 'pytorch_half_pixel':
        return size > 1 ? unscaled(index + 0.5) - 0.5 : 0;
      case 'align_corners':
        return size > 1 ? (index * (length - 1)) / (size - 1) : 0;
      case 'asymmetric':
        return unscaled(index);
      case 'tf_half_pixel_for_nn':
        return unscaled(index + 0.5);
      case 'tf_crop_and_resize': {
        const [start, end] = crop;
        if (size === 1) return 0.5 * (start + end) * (length - 1);
        return start * (length - 1) + (index * (end - start) * (length - 1)) / (size - 1);
      }
    }
  };
  return Array.from({ length: size }, (_, index) => place(index));
}
