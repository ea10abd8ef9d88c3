import type { Point } from '../../curve.ts';
import { curveShape, frame } from './content/curve-shape.ts';
import { elementById, makeSvg } from './dom.ts';

/** What a curve shows of each point. */
export interface Quantity {
  readonly valueOf: (point: Point) => number;
  readonly textOf: (value: number) => string;
  /** The lower end of the axis, which then has no label. Default: the smallest value. */
  readonly min?: number;
}

/** Draws a curve over steps into the SVG element with this id. Fewer than two points are not drawn. */
export function drawCurve(id: string, points: readonly Point[], { valueOf, textOf, min }: Quantity): void {
  const svg = elementById(id, SVGSVGElement);
  const { width, height, left, right } = frame;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  if (points.length < 2) return;
  const curve = curveShape(
    points.map((point) => [point.step, valueOf(point)]),
    min,
  );
  const axis = (y: number) => makeSvg('line', { class: 'axis', x1: left, x2: width - right, y1: y, y2: y });
  const label = (y: number, text: string) => makeSvg('text', { x: left, y: y - 5 }, text);
  svg.replaceChildren(
    axis(curve.low.y),
    axis(curve.high.y),
    makeSvg('path', { class: 'curve', d: curve.path }),
    label(curve.high.y, textOf(curve.high.value)),
    ...(min === undefined ? [label(curve.low.y, textOf(curve.low.value))] : []),
    label(height, `step ${curve.firstStep}`),
    makeSvg('text', { x: width - right, y: height - 5, 'text-anchor': 'end' }, String(curve.lastStep)),
  );
}
