/** A 2 x 3 matrix: (a x + b y + c, d x + e y + f). */
export type AffineMatrix = readonly [a: number, b: number, c: number, d: number, e: number, f: number];

/** The numbers of an affine transformation, as torchvision.transforms.functional.affine has them. */
export interface Affine {
  /** Degrees, clockwise. */
  angle: number;
  /** Pixels to the right and down. */
  translate: readonly [x: number, y: number];
  scale: number;
  /** Degrees along the x and the y axis. */
  shear: readonly [x: number, y: number];
  /** The point that stays without `translate`, in pixels from the image's center. */
  center: readonly [x: number, y: number];
}

/**
 * The inverse of an affine transformation (torchvision's `_get_inverse_affine_matrix`): where in the original image, in pixels
 * from its center, each pixel of the result is.
 */
export function inverseAffineMatrix({ angle, translate, scale, shear, center }: Affine): AffineMatrix {
  const radians = (degrees: number) => degrees * (Math.PI / 180);
  const [rotation, shearX, shearY] = [radians(angle), radians(shear[0]), radians(shear[1])];
  const a = Math.cos(rotation - shearY) / Math.cos(shearY);
  const b = -(a * Math.tan(shearX) + Math.sin(rotation));
  const c = Math.sin(rotation - shearY) / Math.cos(shearY);
  const d = Math.cos(rotation) - c * Math.tan(shearX);
  const [x, y] = [center[0] + translate[0], center[1] + translate[1]];
  const [ax, ay, bx, by] = [d / scale, -b / scale, -c / scale, a / scale];
  return [ax, ay, center[0] - ax * x - ay * y, bx, by, center[1] - bx * x - by * y];
}
