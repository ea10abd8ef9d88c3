import { isNode, type Value } from './node.ts';
import type { Source } from './source.ts';

/** The source of a leaf; undefined for computed values. */
export function sourceOfLeaf(value: Value | undefined): Source | undefined {
  return value && isNode(value.node, 'Input') ? value.node.attributes.source : undefined;
}
