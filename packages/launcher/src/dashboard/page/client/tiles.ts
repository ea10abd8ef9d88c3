import type { Status } from '../../status.ts';
import { tilesOf } from './content/tiles.ts';
import type { Tile } from './content/tiles.ts';
import { byId, make } from './dom.ts';

export function showTiles(status: Status): void {
  byId('tiles').replaceChildren(...tilesOf(status).map(tileElement));
}

function tileElement({ name, value, remark }: Tile): HTMLElement {
  const tile = make('div', '', 'tile');
  tile.append(make('span', name), make('b', value), make('span', remark));
  return tile;
}
