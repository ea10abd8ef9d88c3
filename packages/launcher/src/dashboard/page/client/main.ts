import type { Status } from '../../status.ts';
import { showCharts } from './charts.ts';
import { followStatus } from './connection.ts';
import { byId } from './dom.ts';
import { showEvents } from './events.ts';
import { showHeader, showState } from './header.ts';
import { showProgress } from './progress.ts';
import { showRanks } from './ranks-table.ts';
import { followScale } from './scale.ts';
import { showTiles } from './tiles.ts';

let last = JSON.parse(byId('first').textContent) as Status;
show(last);
followScale(() => {
  showCharts(last);
});
void followStatus(show, showState);

function show(status: Status): void {
  last = status;
  showHeader(status);
  showProgress(status.progress);
  showTiles(status);
  showCharts(status);
  showRanks(status);
  showEvents(status.events);
}
