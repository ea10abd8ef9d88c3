import { loadNative } from '@ringrun/native';
import type { Random } from '../../random.ts';
import { inverseAffineMatrix } from '../affine-matrix.ts';
import type { AffineMatrix } from '../affine-matrix.ts';
import { perChannel } from '../arguments.ts';
import type { RandomAffine, RandomRotation } from '../geometry.ts';
import { roundedToEven } from '../steps.ts';
import type { ByteImages, ByteStage, ImageShape } from './stage.ts';

/** Rotates, shifts, scales and shears images, which keep their size. */
export class WarpStage implements ByteStage<AffineMatrix> {
  readonly shape: ImageShape;
  readonly #transform: RandomRotation | RandomAffine;
  readonly #fill: Float32Array;
  readonly #isBilinear: boolean;

  /**
   * @param mask for masks, which show the nearest pixel, and another fill
   * @throws InvalidArgumentError if `fill` is for other channels
   */
  constructor(shape: ImageShape, transform: RandomRotation | RandomAffine, mask?: { fill: number }) {
    this.shape = shape;
    this.#transform = transform;
    const { fill } = mask ?? transform;
    this.#fill = Float32Array.from(perChannel(fill, shape[0], transform.kind, 'fill'));
    this.#isBilinear = mask === undefined && transform.interpolation === 'bilinear';
  }

  /** In torchvision's order: angle, shifts to the right and down, scale, shears along x and y. */
  draw(random: Random): AffineMatrix {
    const transform = this.#transform;
    const [, height, width] = this.shape;
    const center = fromMiddle(transform.center, height, width);
    const angle = random.uniform(...transform.degrees);
    if (transform.kind === 'RandomRotation')
      return inverseAffineMatrix({ angle: -angle, translate: [0, 0], scale: 1, shear: [0, 0], center });
    const shift = (share: number, length: number) =>
      roundedToEven(random.uniform(-share * length, share * length));
    const { translate, scale, shear = [] } = transform;
    return inverseAffineMatrix({
      angle,
      translate: translate ? [shift(translate[0], width), shift(translate[1], height)] : [0, 0],
      scale: scale ? random.uniform(...scale) : 1,
      shear: [
        shear.length > 0 ? random.uniform(...shear[0]) : 0,
        shear.length > 1 ? random.uniform(...shear[1]) : 0,
      ],
      center,
    });
  }

  apply({ pixels, indices }: ByteImages, drawn: readonly AffineMatrix[], to: Uint8Array): void {
    const rows = drawn.flatMap((matrix, position) => [indices[position], ...matrix]);
    const matrices = Float64Array.from(rows);
    loadNative().warpImages(pixels, this.shape, matrices, this.#isBilinear, this.#fill, to);
  }
}

function fromMiddle(
  center: readonly [x: number, y: number] | undefined,
  height: number,
  width: number,
): readonly [x: number, y: number] {
  return center ? [center[0] - width / 2, center[1] - height / 2] : [0, 0];
}
