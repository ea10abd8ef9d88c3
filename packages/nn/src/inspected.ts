import type { TensorData } from './dtype.ts';
import { findOutdated } from './graph/changes.ts';
import { describeType, isNode, sizeOf, type Value } from './graph/node.ts';
import { topologicalOrder } from './graph/topology.ts';
import { keptNumber, remainderOf } from './kept.ts';

/** How many elements are printed. */
const shown = 6;

/** A tensor in one line, with the elements that are there: computes nothing and waits for nothing. */
export function inspected(name: string, value: Value): string {
  return `${name}${pathOf(value)} ${describeType(value)} ${elementsIn(value)}`;
}

function pathOf({ node }: Value): string {
  const path = isNode(node, 'Input') ? node.attributes.source.parameter?.path : undefined;
  return path === undefined ? '' : ` ${path}`;
}

function elementsIn(value: Value): string {
  const number = keptNumber(value);
  if (number !== undefined) return listed(number);
  const { node } = value;
  if (isNode(node, 'Number')) return listed([node.attributes.value]);
  if (isNode(node, 'Constant')) return listed(node.attributes.values);
  if (isNode(node, 'Input')) {
    const { source } = node.attributes;
    if (source.isThere === false) return '(its elements are on their way from another rank)';
    const data = source.place ?? source.data;
    return data.length === sizeOf(value.shape) ? listed(data) : '(its array was emptied)';
  }
  return isOutdated(value)
    ? '(not computed before its parameters changed: compute it anew)'
    : '(not computed yet: await x.array())';
}

/** Whether reading the value would be an error. */
function isOutdated(value: Value): boolean {
  const { nodes, stands } = remainderOf(value, topologicalOrder([value]), 'read');
  return findOutdated(nodes.filter((node) => !stands(node))) !== undefined;
}

function listed(elements: TensorData | readonly number[]): string {
  const first = Array.from<number | bigint>({ length: Math.min(elements.length, shown) }).map((_, i) =>
    written(elements[i]),
  );
  const rest = elements.length - first.length;
  return `[${[...first, ...(rest > 0 ? [`… ${rest} more`] : [])].join(', ')}]`;
}

/** Five digits tell numbers apart; a float32 printed in full, such as 0.10000000149011612, hides them. */
function written(element: number | bigint): string {
  if (typeof element === 'bigint') return String(element);
  return Object.is(element, -0) ? '-0' : String(Number(element.toPrecision(5)));
}
