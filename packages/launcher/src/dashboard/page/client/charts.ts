import { formatScalar } from '../../format.ts';
import type { Status } from '../../status.ts';
import { hasCurves, scalarTexts, scalarsNote } from './content/scalars.ts';
import { lossText, rateText } from './content/text.ts';
import { drawCurve } from './curve.ts';
import { byId, elementById, make, makeSvg } from './dom.ts';
import { isLogScale } from './scale.ts';

/** The curves of loss and rate, and one of each scalar that the script reports. */
export function showCharts(status: Status): void {
  const isLog = isLogScale();
  const { curve } = status;
  byId('curves').hidden = !hasCurves(status);
  for (const name of ['loss', 'rate']) byId(`${name}-figure`).hidden = curve.length < 2;
  byId('rate-title').textContent = `${status.unit}/s of all ranks`;
  drawCurve(
    elementById('loss', SVGSVGElement),
    curve.map(({ step, loss }) => [step, loss]),
    { textOf: lossText, isLog },
  );
  drawCurve(
    elementById('rate', SVGSVGElement),
    curve.map(({ step, rate }) => [step, rate]),
    { textOf: rateText, min: 0 },
  );
  for (const old of document.querySelectorAll('#charts .scalar')) old.remove();
  byId('charts').append(...status.scalars.map((scalar) => scalarFigure(scalar, isLog)));
  byId('scalars-note').textContent = scalarsNote(status);
}

function scalarFigure(scalar: Status['scalars'][number], isLog: boolean): HTMLElement {
  const { name, value } = scalarTexts(scalar);
  const figure = make('figure', '', 'scalar');
  const caption = make('figcaption', name);
  caption.append(make('b', value));
  figure.append(caption);
  if (scalar.points.length > 1) {
    const svg = makeSvg('svg', { role: 'img' });
    drawCurve(svg, scalar.points, { textOf: formatScalar, isLog });
    figure.append(svg);
  }
  return figure;
}
