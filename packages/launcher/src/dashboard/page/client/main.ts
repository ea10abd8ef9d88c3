import type { Status } from '../../status.ts';
import { followStatus } from './connection.ts';
import { lossText, rateText } from './content/text.ts';
import { drawCurve } from './curve.ts';
import { byId } from './dom.ts';
import { showEvents } from './events.ts';
import { showHeader, showState } from './header.ts';
import { showProgress } from './progress.ts';
import { showRanks } from './ranks-table.ts';
import { showTiles } from './tiles.ts';

show(JSON.parse(byId('first').textContent) as Status);
void followStatus(show, showState);

function show(status: Status): void {
  showHeader(status);
  showProgress(status.progress);
  showTiles(status);
  byId('charts').hidden = status.curve.length < 2;
  byId('rate-title').textContent = `${status.unit}/s of all ranks`;
  drawCurve('loss', status.curve, { valueOf: ({ loss }) => loss, textOf: lossText });
  drawCurve('rate', status.curve, { valueOf: ({ rate }) => rate, textOf: rateText, min: 0 });
  showRanks(status);
  showEvents(status.events);
}
