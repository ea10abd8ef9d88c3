import type { Scalar, TensorData } from '../dtype.ts';
import { findOutdated } from '../graph/changes.ts';
import { isNode, type Value } from '../graph/node.ts';
import { describeType, sizeOf } from '../value-type.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { cachedElements, uncachedPartOf } from '../engine/value-cache.ts';

/** Number of elements that are printed. */
const maxPrinted = 6;

/** The first elements read from a value. */
const lastRead = new WeakMap<Value, TensorData>();

/** Keeps the elements that `inspectTensor` prints. */
export function recordRead(value: Value, elements: TensorData): void {
  lastRead.set(value, elements.slice(0, maxPrinted));
}

/** Formats a tensor as one line for `console.log`, with the known elements. Never computes or blocks. */
export function inspectTensor(name: string, value: Value): string {
  return `${name}${describePath(value)} ${describeType(value)} ${describeElements(value)}`;
}

function describePath({ node }: Value): string {
  const { parameter, frozen } = isNode(node, 'Input') ? node.attributes.source : {};
  const path = (parameter ?? frozen)?.path;
  return path === undefined ? '' : ` ${path}`;
}

function describeElements(value: Value): string {
  const number = cachedElements(value);
  if (number !== undefined) return listed(number);
  const { node } = value;
  if (isNode(node, 'Number')) return listed([node.attributes.value]);
  if (isNode(node, 'Constant')) return listed(node.attributes.values);
  if (isNode(node, 'Input')) {
    const { source } = node.attributes;
    if (source.isAvailable === false) return '(its elements are being received from another rank)';
    const data = source.memory?.array ?? source.data;
    return data.length === sizeOf(value.shape) ? listed(data) : '(its array was detached)';
  }
  const read = lastRead.get(value);
  if (read !== undefined) return listed(read, sizeOf(value.shape));
  return isOutdated(value)
    ? '(outdated: its parameters have changed since; compute it again)'
    : '(not computed yet: await x.array())';
}

/** True if reading the value would throw ERR_OUTDATED. */
function isOutdated(value: Value): boolean {
  const { nodes, isCached } = uncachedPartOf([value], topologicalOrder([value]), 'read');
  return findOutdated(nodes.filter((node) => !isCached(node))) !== undefined;
}

function listed(elements: TensorData | readonly Scalar[], count = elements.length): string {
  const first = Array.from<Scalar>({ length: Math.min(elements.length, maxPrinted) }).map((_, i) =>
    written(elements[i]),
  );
  const rest = count - first.length;
  return `[${[...first, ...(rest > 0 ? [`… ${rest} more`] : [])].join(', ')}]`;
}

/** Five significant digits: a float32 in full, such as 0.10000000149011612, is hard to read. */
function written(element: Scalar): string {
  if (typeof element === 'bigint') return String(element);
  return Object.is(element, -0) ? '-0' : String(Number(element.toPrecision(5)));
}
