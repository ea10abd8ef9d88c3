import type { OnnxGraph } from './decode.ts';

/** Names that a graph and its branches read or return. */
export function namesIn({ nodes, outputs }: OnnxGraph): Set<string> {
  const contents = nodes.flatMap(({ attributes }) => [...attributes.values()].map(({ content }) => content));
  const inside = contents.flatMap((content) =>
    typeof content === 'object' && 'nodes' in content ? [...namesIn(content)] : [],
  );
  return new Set([...outputs, ...nodes.flatMap(({ inputs }) => inputs), ...inside].filter(Boolean));
}
