import { elementById } from './dom.ts';

/** The fragment of the page's address with a logarithmic scale, so that a link or a reload keeps it. */
const fragment = '#log';

export function isLogScale(): boolean {
  return location.hash === fragment;
}

/** Connects the switch with the address of the page. */
export function followScale(redraw: () => void): void {
  const box = elementById('log-scale', HTMLInputElement);
  const follow = () => {
    box.checked = isLogScale();
    redraw();
  };
  box.checked = isLogScale();
  box.addEventListener('change', () => {
    // Without an entry in the history. The path alone removes the fragment.
    history.replaceState(null, '', box.checked ? fragment : location.pathname);
    redraw();
  });
  addEventListener('hashchange', follow);
}
