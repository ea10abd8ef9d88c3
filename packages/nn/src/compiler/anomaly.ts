import { isFloat } from '../dtype.ts';
import { isCollective } from '../graph/collective.ts';
import { isNode, type Node, type Value } from '../graph/node.ts';
import { describeType } from '../value-type.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { evaluate, type RunOptions } from './compile.ts';
import { differentiate } from './differentiate.ts';
import { rewrite } from './rewrite.ts';
import { plainOperators } from './rewrites/plain-operators.ts';

/** True if no element is NaN or infinite. */
export function allFinite(numbers: Float32Array): boolean {
  return numbers.every((number) => Number.isFinite(number));
}

/**
 * Runs the unoptimized graph of a loss and its gradients, keeps all intermediate values, and describes the operator that
 * produced the first NaN or infinity.
 *
 * @param failed the loss
 * @param options inputs of the failed pass, and a `replaceGroup` that replays its collectives, because other ranks do not
 *   run them again
 * @param gradients of other tensors than parameters, which the graph computes
 */
export async function explainAnomaly(
  failed: Value,
  options: RunOptions,
  gradients: readonly Value[] = [],
): Promise<string> {
  const [loss, ...others] = rewrite([failed, ...gradients], [plainOperators]);
  const graph = withGradients(loss, others);
  const numbers = await computeAll(graph.order, options);
  const nonFinite = new Set([...numbers.keys()].filter((value) => !allFinite(numbers.get(value)!)));
  const results = nonFinite.has(loss)
    ? [loss]
    : [...graph.gradients.values()].filter((value) => nonFinite.has(value));
  if (results.length === 0) {
    return (
      'the loss or a gradient is not finite, but it is finite when each operator is computed separately: ' +
      "values are near the limit of float32, 3.4e38. Scale the model's inputs or the loss."
    );
  }
  const source = firstSource(graph.order, results, nonFinite);
  const result = results[0] === loss ? 'the loss' : describeGradient(graph.gradients, results[0]);
  const cause = describeSource(source, graph.origins.get(source), numbers, nonFinite);
  return `${result} is ${exampleOf(numbers.get(results[0])!)}. ${cause}`;
}

interface GraphWithGradients {
  readonly order: readonly Node[];
  /** By leaf. */
  readonly gradients: ReadonlyMap<Value, Value>;
  /** The forward operator whose gradient a node of the backward pass computes. */
  readonly origins: ReadonlyMap<Node, Node>;
}

function withGradients(loss: Value, others: readonly Value[]): GraphWithGradients {
  const forward = new Set(topologicalOrder([loss]));
  const origins = new Map<Node, Node>();
  const isNew = (node: Node) => !forward.has(node) && !origins.has(node);
  const gradients = differentiate(loss, (node, parts) => {
    for (const made of topologicalOrder(parts, isNew)) if (isNew(made)) origins.set(made, node);
  });
  for (const other of others) gradients.set(other, other);
  return { order: topologicalOrder([loss, ...gradients.values()]), gradients, origins };
}

/** Computes the elements of every float32 value. */
async function computeAll(order: readonly Node[], options: RunOptions): Promise<Map<Value, Float32Array>> {
  const values = order.flatMap(({ outputs }) => outputs).filter(isFloat);
  const arrays = await evaluate(values, options);
  return new Map(values.map((value, position) => [value, arrays[position] as Float32Array]));
}

/** The first node that computed a non-finite value from finite ones and from which such values reach the results. */
function firstSource(order: readonly Node[], results: readonly Value[], nonFinite: ReadonlySet<Value>): Node {
  const reaching = new Set(results.map(({ node }) => node));
  let source = results[0].node;
  for (const node of order.toReversed()) {
    if (!reaching.has(node)) continue;
    const inputs = node.inputs.filter((input) => nonFinite.has(input));
    for (const input of inputs) reaching.add(input.node);
    if (inputs.length === 0) source = node;
  }
  return source;
}

function describeGradient(gradients: ReadonlyMap<Value, Value>, result: Value): string {
  const [leaf] = [...gradients].find(([, gradient]) => gradient === result)!;
  return `the loss is finite, but the gradient of ${describe(leaf)}`;
}

function describeSource(
  source: Node,
  origin: Node | undefined,
  numbers: ReadonlyMap<Value, Float32Array>,
  nonFinite: ReadonlySet<Value>,
): string {
  const output = source.outputs.find((value) => nonFinite.has(value))!;
  const amount = countOf(numbers.get(output)!);
  if (isNode(source, 'Input')) return `${capitalised(describe(output))} holds ${amount}.`;
  if (isNode(source, 'Number')) return `A number of the graph is ${source.attributes.value}.`;
  if (isNode(source, 'Constant')) return `A constant of the graph holds ${amount}.`;
  const inputs = source.inputs.map(describe).join(', ');
  const from = isCollective(source)
    ? "finite inputs of this rank; another rank's inputs are not finite"
    : 'finite inputs';
  const produced = `produced ${amount} from ${from}: ${inputs}.`;
  if (origin === undefined) return `${source.op}${describeModuleOf(source)} ${produced}`;
  return `In the gradient of ${origin.op}${describeModuleOf(origin)} (inputs: ${origin.inputs.map(describe).join(', ')}), ${source.op} ${produced}`;
}

/** Describes a value in messages: a parameter by its path. */
function describe(value: Value): string {
  const { node } = value;
  if (!isNode(node, 'Input')) return describeType(value);
  const { parameter } = node.attributes.source;
  if (parameter === undefined) return `a tensor ${describeType(value)}`;
  return `${parameter.path === undefined ? 'a parameter' : `parameter ${parameter.path}`} ${describeType(value)}`;
}

/** ` in <module>` whose parameters the operator reads, else ` after <nearest module before it>`, else an empty string. */
export function describeModuleOf(node: Node): string {
  const direct = modulesOf(node);
  if (direct.length > 0) return ` in ${direct.join(', ')}`;
  // Breadth first, so that the nearest module is found first.
  const pending = [...node.inputs];
  const seen = new Set<Node>();
  for (const { node: before } of pending) {
    if (seen.has(before)) continue;
    seen.add(before);
    const modules = modulesOf(before);
    if (modules.length > 0) return ` after ${modules.join(', ')}`;
    pending.push(...before.inputs);
  }
  return '';
}

function modulesOf({ inputs }: Node): string[] {
  const paths = inputs.map(({ node }) =>
    isNode(node, 'Input') ? node.attributes.source.parameter?.path : undefined,
  );
  const modules = paths.filter((path) => path !== undefined).map((path) => path.replace(/\.?[^.]*$/, ''));
  return [...new Set(modules)].filter((module) => module !== '');
}

/** `NaN in 2 of 12 elements (the first at 5)` */
function countOf(numbers: Float32Array): string {
  const count = numbers.filter((number) => !Number.isFinite(number)).length;
  const first = numbers.findIndex((number) => !Number.isFinite(number));
  return `${numbers[first]} in ${count} of ${numbers.length} elements (the first at ${first})`;
}

function exampleOf(numbers: Float32Array): string {
  return String(numbers.find((number) => !Number.isFinite(number)));
}

function capitalised(text: string): string {
  return text[0].toUpperCase() + text.slice(1);
}
