import { isCollective } from '../graph/collective.ts';
import { describeType, isNode, sizeOf, type Node, type Value } from '../graph/node.ts';
import { topologicalOrder } from '../graph/topology.ts';
import { evaluate, type RunOptions } from './compile.ts';
import { differentiate } from './differentiate.ts';

/** Whether no element is NaN or infinite. */
export function allFinite(numbers: Float32Array): boolean {
  return numbers.every((number) => Number.isFinite(number));
}

/**
 * Runs the graph of a loss and its gradients operator by operator, as it was written, and says in words where the first number came from that is not
 * finite. Takes the memory of all that is computed on the way.
 *
 * @param options the inputs of the pass that is explained, and `through`, which replays its collectives: other ranks may have found nothing to explain, and have gone on
 */
export async function explainAnomaly(loss: Value, options: RunOptions): Promise<string> {
  const graph = withGradients(loss);
  const numbers = await computeAll(graph.order, options);
  const bad = new Set([...numbers.keys()].filter((value) => !allFinite(numbers.get(value)!)));
  const results = bad.has(loss) ? [loss] : [...graph.gradients.values()].filter((value) => bad.has(value));
  if (results.length === 0) {
    return (
      'the loss or a gradient is not finite, but it is when each operator is computed by itself: ' +
      "numbers are near the limits of float32, 3.4e38; scale the model's inputs or the loss."
    );
  }
  const culprit = firstCulprit(graph.order, results, bad);
  const what = results[0] === loss ? 'the loss' : whoseGradient(graph.gradients, results[0]);
  const blame = describeCulprit(culprit, graph.origins.get(culprit), numbers, bad);
  return `${what} is ${exampleOf(numbers.get(results[0])!)}. ${blame}`;
}

interface GraphWithGradients {
  readonly order: readonly Node[];
  /** By the leaf. */
  readonly gradients: ReadonlyMap<Value, Value>;
  /** The operator of the forward pass to whose gradient a node of the backward pass belongs. */
  readonly origins: ReadonlyMap<Node, Node>;
}

function withGradients(loss: Value): GraphWithGradients {
  const forward = new Set(topologicalOrder([loss]));
  const origins = new Map<Node, Node>();
  const isNew = (node: Node) => !forward.has(node) && !origins.has(node);
  const gradients = differentiate(loss, (node, parts) => {
    for (const made of topologicalOrder(parts, isNew)) if (isNew(made)) origins.set(made, node);
  });
  return { order: topologicalOrder([loss, ...gradients.values()]), gradients, origins };
}

/** The elements of every float32 value. */
async function computeAll(order: readonly Node[], options: RunOptions): Promise<Map<Value, Float32Array>> {
  const values = order.flatMap(({ outputs }) => outputs).filter(({ dtype }) => dtype === 'float32');
  const arrays = values.map(({ shape }) => new Float32Array(sizeOf(shape)));
  await evaluate(values, arrays, options);
  return new Map(values.map((value, position) => [value, arrays[position]]));
}

/** The first node in the order of computation that made a bad number of good ones and from which a bad way leads to the results. */
function firstCulprit(order: readonly Node[], results: readonly Value[], bad: ReadonlySet<Value>): Node {
  const onTheWay = new Set(results.map(({ node }) => node));
  let culprit = results[0].node;
  for (const node of order.toReversed()) {
    if (!onTheWay.has(node)) continue;
    const badInputs = node.inputs.filter((input) => bad.has(input));
    for (const input of badInputs) onTheWay.add(input.node);
    if (badInputs.length === 0) culprit = node;
  }
  return culprit;
}

function whoseGradient(gradients: ReadonlyMap<Value, Value>, result: Value): string {
  const [leaf] = [...gradients].find(([, gradient]) => gradient === result)!;
  return `the loss is finite, but the gradient of ${describe(leaf)}`;
}

function describeCulprit(
  culprit: Node,
  origin: Node | undefined,
  numbers: ReadonlyMap<Value, Float32Array>,
  bad: ReadonlySet<Value>,
): string {
  const output = culprit.outputs.find((value) => bad.has(value))!;
  const amount = countOf(numbers.get(output)!);
  if (isNode(culprit, 'Input')) return `${capitalised(describe(output))} holds ${amount}.`;
  if (isNode(culprit, 'Number')) return `A number of the graph is ${culprit.attributes.value}.`;
  if (isNode(culprit, 'Constant')) return `A constant of the graph holds ${amount}.`;
  const inputs = culprit.inputs.map(describe).join(', ');
  const from = isCollective(culprit)
    ? "finite inputs of this rank, so another rank's are not"
    : 'finite inputs';
  const made = `gave ${amount} from ${from}: ${inputs}.`;
  if (origin === undefined) return `${culprit.op}${placeOf(culprit)} ${made}`;
  return `In the gradient of ${origin.op}${placeOf(origin)} (inputs: ${origin.inputs.map(describe).join(', ')}), ${culprit.op} ${made}`;
}

/** A value as messages name it; a parameter by its path. */
function describe(value: Value): string {
  const { node } = value;
  if (!isNode(node, 'Input')) return describeType(value);
  const { parameter } = node.attributes.source;
  if (parameter === undefined) return `a tensor ${describeType(value)}`;
  return `${parameter.path === undefined ? 'a parameter' : `parameter ${parameter.path}`} ${describeType(value)}`;
}

/** The module whose parameters the operator reads, or the nearest one before it; nothing where no module is known. */
export function placeOf(node: Node): string {
  const direct = modulesOf(node);
  if (direct.length > 0) return ` in ${direct.join(', ')}`;
  // Breadth first: the nearest come first.
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
