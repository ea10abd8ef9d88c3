import * as F from '../../../functional/index.ts';
import type { Tensor } from '../../../tensor.ts';
import type { OperatorCall } from '../call.ts';

/** Resize and Upsample, with the coordinates that torch exports. */
export function resize(call: OperatorCall): Tensor {
  const x = call.tensor(0);
  const isUpsample = call.node.op === 'Upsample';
  const scales = isUpsample ? call.list('scales', 1) : call.numbers(2);
  const sizes = isUpsample ? undefined : call.numbers(3);
  const axes = x.shape.length - 2;
  const hasSizes = sizes !== undefined && sizes.length > 0;
  const size = hasSizes ? { size: sizes.slice(2) as unknown as F.Triple } : {};
  const scaleFactor = hasSizes || !scales ? {} : { scaleFactor: scales.slice(2) as unknown as F.Triple };
  const to = { ...size, ...scaleFactor };
  const leading = (hasSizes ? sizes.map((one, axis) => one / x.shape[axis]) : (scales ?? [])).slice(0, 2);
  if (leading.some((factor) => factor !== 1)) throw call.error('expected equal N and C');
  const mode = call.string('mode', 'nearest');
  const coordinates = call.string('coordinate_transformation_mode', isUpsample ? 'asymmetric' : 'half_pixel');
  if (mode === 'nearest') {
    const rounding = call.string('nearest_mode', isUpsample ? 'floor' : 'round_prefer_floor');
    if (coordinates === 'asymmetric' && rounding === 'floor') return F.interpolate(x, to);
    throw call.error(
      `expected nearest elements by asymmetric coordinates and floor, got ${coordinates} and ${rounding}`,
    );
  }
  const alignCorners = coordinates === 'align_corners';
  if (!alignCorners && coordinates !== 'half_pixel' && coordinates !== 'pytorch_half_pixel') {
    throw call.error(`expected the coordinates half_pixel or align_corners, got ${coordinates}`);
  }
  if (mode === 'cubic' && call.float('cubic_coeff_a', -0.75) !== -0.75) {
    throw call.error('expected a cubic_coeff_a of -0.75');
  }
  const linear = (['linear', 'bilinear', 'trilinear'] as const)[axes - 1];
  return F.interpolate(x, { ...to, mode: mode === 'cubic' ? 'bicubic' : linear, alignCorners });
}
