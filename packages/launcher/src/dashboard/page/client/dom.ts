/** The HTML element with this id in the page's markup. */
export function byId(id: string): HTMLElement {
  return elementById(id, HTMLElement);
}

/** The element with this id in the page's markup, which has this class. */
export function elementById<Kind extends Element>(id: string, kind: new () => Kind): Kind {
  const found = document.getElementById(id) as Element | null;
  if (!(found instanceof kind)) throw new Error(`the page has no ${kind.name} with the id ${id}`);
  return found;
}

/** A new HTML element. The text is set as text, so that a host name or an error cannot become markup. */
export function make<Tag extends keyof HTMLElementTagNameMap>(
  tag: Tag,
  text = '',
  ...classes: readonly string[]
): HTMLElementTagNameMap[Tag] {
  const made = document.createElement(tag);
  made.textContent = text;
  if (classes.length > 0) made.classList.add(...classes);
  return made;
}

/** A new SVG element. */
export function makeSvg<Tag extends 'line' | 'path' | 'svg' | 'text'>(
  tag: Tag,
  attributes: Readonly<Record<string, string | number>>,
  text = '',
): SVGElementTagNameMap[Tag] {
  const made = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, String(value));
  made.textContent = text;
  return made;
}
