import { curveShape, frame } from './content/curve-shape.ts';
import type { CurveAxis, CurvePoint } from './content/curve-shape.ts';
import { makeSvg } from './dom.ts';

/** How a curve is drawn. */
export interface CurveStyle extends CurveAxis {
  readonly textOf: (value: number) => string;
}

/** Draws a curve over steps. Fewer than two points that the axis can show are not drawn. */
export function drawCurve(
  svg: SVGSVGElement,
  points: readonly CurvePoint[],
  { textOf, ...axis }: CurveStyle,
): void {
  const { width, height, left, right } = frame;
  svg.setAttribute('viewBox', `0 0 ${width} ${height}`);
  const curve = curveShape(points, axis);
  if (curve === undefined) {
    const reason = axis.isLog === true && points.length > 1 ? 'no values above 0' : '';
    svg.replaceChildren(makeSvg('text', { x: left, y: height / 2 }, reason));
    return;
  }
  const line = (y: number) => makeSvg('line', { class: 'axis', x1: left, x2: width - right, y1: y, y2: y });
  const label = (y: number, text: string) => makeSvg('text', { x: left, y: y - 5 }, text);
  svg.replaceChildren(
    line(curve.low.y),
    line(curve.high.y),
    makeSvg('path', { class: 'curve', d: curve.path }),
    label(curve.high.y, textOf(curve.high.value)),
    ...(axis.min === undefined ? [label(curve.low.y, textOf(curve.low.value))] : []),
    label(height, `step ${curve.firstStep}`),
    makeSvg('text', { x: width - right, y: height - 5, 'text-anchor': 'end' }, String(curve.lastStep)),
  );
}
