import type { RankView } from '../../job-view.ts';
import type { Status } from '../../status.ts';
import { columnsOf, notesOf, partsOf } from './content/ranks.ts';
import type { Column } from './content/ranks.ts';
import { percent } from './content/text.ts';
import { byId, make } from './dom.ts';

export function showRanks(status: Status): void {
  const columns = columnsOf(status.unit);
  const headings = columns.map(({ name, isText }) => make('th', name, ...(isText ? ['text'] : [])));
  byId('columns').replaceChildren(...headings, make('th', 'last 10 s', 'text'));
  byId('ranks').replaceChildren(
    ...status.ranks.map((rank) => rowOf(rank, columns, rank.rank === status.slowest?.rank)),
  );
  byId('note').textContent = notesOf(status).join(' ');
}

function rowOf(rank: RankView, columns: readonly Column[], isSlowest: boolean): HTMLElement {
  const row = make('tr', '', ...(isSlowest ? ['slowest'] : []));
  row.append(...columns.map((column) => cellOf(rank, column)), sharesOf(rank));
  return row;
}

function cellOf(rank: RankView, { isText, textOf, isBad }: Column): HTMLElement {
  return make('td', textOf(rank), ...(isText ? ['text'] : []), ...(isBad?.(rank) === true ? ['bad'] : []));
}

/** A cell with a bar of the last ten seconds. */
function sharesOf(rank: RankView): HTMLElement {
  const parts = partsOf(rank);
  const bar = make('div', '', 'bar');
  for (const { name, share } of parts) {
    const piece = make('div', '', name);
    piece.style.width = `${100 * share}%`;
    bar.append(piece);
  }
  bar.title = parts.map(({ name, share }) => `${name} ${percent(share)}`).join(', ');
  const cell = make('td', '', 'shares');
  cell.append(bar);
  return cell;
}
