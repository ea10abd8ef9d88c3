import { LaunchError } from '../launch-error.ts';
import type { Asked } from './asked.ts';
import type { LaunchOptions, NodeRange, ProcessesPerNode } from './launch-options.ts';
import { readOperator } from './operator-environment.ts';
import type { OperatorEnvironment } from './operator-environment.ts';
import { defaultRendezvousConfig } from './rendezvous-config.ts';
import type { RendezvousOptions } from './rendezvous-options.ts';

/** What is known of the nodes of the job, and of this one among them. */
export type Placement = Pick<
  LaunchOptions,
  'nodes' | 'processesPerNode' | 'nodeRank' | 'masterAddress' | 'masterPort' | 'rendezvous'
> & { notes: readonly string[] };

const oneNode: NodeRange = { min: 1, max: 1 };

/**
 * How many nodes there are, which of them this is, and where they meet, from the command line, PET_* variables, and RANK, WORLD_SIZE, MASTER_ADDR and
 * MASTER_PORT, which Kubeflow's operators set for nodes. What is nearer to the person wins: flags, then PET_*, then the others.
 *
 * @throws LaunchError for what contradicts itself, with both sides by name.
 */
export function settleNodes(asked: Asked, env: NodeJS.ProcessEnv): Placement {
  const processesPerNode = settleProcesses(asked);
  const standalone = asked.standalone?.value === true;
  refuseSecondWorld(env, standalone);
  if (standalone) return standaloneNode(asked, processesPerNode);
  const operator = readOperator(env);
  const nodes = settleCount(asked, operator, processesPerNode);
  const backend = settleBackend(asked, nodes);
  const { nodeRank, notes } = settleRank(asked, operator, { nodes, backend, processesPerNode });
  const meeting = settleMeeting(asked, operator, nodes);
  const config = asked.rdzvConf?.value ?? defaultRendezvousConfig;
  return {
    nodes,
    processesPerNode,
    nodeRank,
    masterAddress: meeting.masterAddress,
    masterPort: meeting.masterPort,
    rendezvous: { backend, endpoint: meeting.endpoint, config },
    notes,
  };
}

function settleProcesses({ nproc, nprocPerNode }: Asked): ProcessesPerNode {
  if (nproc && nprocPerNode?.byFlag && nproc.value !== nprocPerNode.value) {
    throw new LaunchError(
      2,
      `--nproc ${nproc.value} and --nproc-per-node ${nprocPerNode.value} are two names of one option and contradict each other. Leave one out.`,
    );
  }
  return (nproc ?? nprocPerNode)?.value ?? 1;
}

/** A launcher that is started by a worker would start a world of its own per worker, which nobody means who has put `ringrun` into a script by mistake. */
function refuseSecondWorld(env: NodeJS.ProcessEnv, standalone: boolean): void {
  const job = ['RINGRUN_RUN_ID', 'TORCHELASTIC_RUN_ID'].find((name) => env[name]);
  const localRank = env['LOCAL_RANK'];
  if (standalone || job === undefined || !localRank) return;
  throw new LaunchError(
    2,
    `This launcher is started by a worker of another one (${job} is ${env[job]}, LOCAL_RANK is ${localRank}): each worker would start a job of its own. ` +
      'Start the script itself, or say --standalone where that is what you want.',
  );
}

function standaloneNode(asked: Asked, processesPerNode: ProcessesPerNode): Placement {
  const { standalone, nnodes } = asked;
  // A person in a pod may try something alone: what the operator says of others does not count then.
  const isOverruled = standalone!.byFlag && nnodes?.byFlag === false;
  if (nnodes && nnodes.value.max > 1 && !isOverruled) {
    throw new LaunchError(
      2,
      `${standalone!.from} and ${nnodes.from}=${formatNodes(nnodes.value)} contradict each other: a standalone job has one node. Leave one out.`,
    );
  }
  return {
    nodes: oneNode,
    processesPerNode,
    nodeRank: 0,
    masterAddress: asked.masterAddr?.byFlag ? asked.masterAddr.value : undefined,
    masterPort: asked.masterPort?.byFlag ? asked.masterPort.value : undefined,
    rendezvous: {
      backend: 'c10d',
      endpoint: undefined,
      config: asked.rdzvConf?.value ?? defaultRendezvousConfig,
    },
    notes: [],
  };
}

/** --nnodes, PET_NNODES, or WORLD_SIZE, which counts nodes × processes of a node (`auto` as 1) in a PyTorchJob, and nodes under its predecessor. */
function settleCount(asked: Asked, operator: OperatorEnvironment, processes: ProcessesPerNode): NodeRange {
  if (asked.nnodes) {
    if (!asked.nnodes.byFlag) checkWorldSize(asked, operator, processes);
    return asked.nnodes.value;
  }
  const { rank, worldSize } = operator;
  if (rank === undefined && worldSize === undefined) return oneNode;
  if (rank === undefined || worldSize === undefined) {
    const [set, missing] = rank === undefined ? ['WORLD_SIZE', 'RANK'] : ['RANK', 'WORLD_SIZE'];
    throw new LaunchError(
      2,
      `${set} is ${rank ?? worldSize}, but ${missing} is not set: set both for one of several nodes, or give --nnodes, or --standalone for a job of this node alone.`,
    );
  }
  const each = countedAs(processes);
  if (worldSize % each === 0) return { min: worldSize / each, max: worldSize / each };
  throw new LaunchError(
    2,
    `WORLD_SIZE is ${worldSize}, which is no multiple of the ${each} processes per node: expected nodes × processes. Give --nnodes, or another --nproc-per-node.`,
  );
}

/** An environment that contradicts itself is a manifest with a mistake in it; what the command line says is not held against it. */
function checkWorldSize(
  { nnodes, nprocPerNode }: Asked,
  { worldSize }: OperatorEnvironment,
  processes: ProcessesPerNode,
): void {
  const { min, max } = nnodes!.value;
  if (worldSize === undefined || min !== max) return;
  const own = nprocPerNode?.byFlag === false ? nprocPerNode : undefined;
  // The number that `auto` stands for is not known to the operator, which counts it as 1; somebody else may have counted.
  const isCounted = [own?.value, processes].some((one) => typeof one === 'string');
  const expected = [own?.value ?? 1, processes].map((one) => max * countedAs(one));
  if (expected.includes(worldSize) || (isCounted && worldSize % max === 0)) return;
  const factor = own ? ` × ${own.from} (${own.value})` : '';
  throw new LaunchError(
    2,
    `WORLD_SIZE is ${worldSize}, but ${nnodes!.from} (${max})${factor} is ${isCounted ? `a multiple of ${max}` : expected[0]}: ` +
      'the environment contradicts itself. Correct the manifest, or unset WORLD_SIZE: the launcher sets it for the processes.',
  );
}

function countedAs(processes: ProcessesPerNode): number {
  return typeof processes === 'number' ? processes : 1;
}

function settleBackend({ rdzvBackend }: Asked, { min, max }: NodeRange): RendezvousOptions['backend'] {
  const backend = rdzvBackend?.value ?? 'static';
  if (backend === 'c10d' || min === max) return backend;
  throw new LaunchError(
    2,
    `--nnodes ${min}:${max} lets nodes come and go, which the static rendezvous does not: add --rdzv-backend c10d, or give one number of nodes.`,
  );
}

interface Settled {
  nodes: NodeRange;
  backend: RendezvousOptions['backend'];
  processesPerNode: ProcessesPerNode;
}

/** With c10d a rank that is given is of no meaning, as under torchrun: nodes get their ranks when they meet. */
function settleRank(
  asked: Asked,
  operator: OperatorEnvironment,
  settled: Settled,
): { nodeRank: number | undefined; notes: string[] } {
  const { nodes, backend } = settled;
  if (backend === 'c10d') return { nodeRank: nodes.max === 1 ? 0 : undefined, notes: [] };
  if (asked.nodeRank?.byFlag === false) checkRank(asked, operator, settled);
  const given = asked.nodeRank ?? rankOf(operator);
  const nodeRank = given?.value ?? 0;
  if (nodeRank >= nodes.max) {
    throw new LaunchError(
      2,
      `${given!.from} is ${nodeRank}, but there ${nodes.max === 1 ? 'is one node' : `are ${nodes.max} nodes`}: expected a rank from 0 to ${nodes.max - 1}${nodes.max === 1 ? ', or --nnodes with the number of nodes' : ''}.`,
    );
  }
  return { nodeRank, notes: given?.byFlag ? [] : noteOnRank(operator, nodeRank, settled) };
}

function rankOf({ rank }: OperatorEnvironment) {
  return rank === undefined ? undefined : { value: rank, from: 'RANK', byFlag: false };
}

/** RANK beside PET_NODE_RANK is the same number in a PyTorchJob; others set it to the first process of the node. */
function checkRank({ nodeRank }: Asked, { rank }: OperatorEnvironment, { processesPerNode }: Settled): void {
  const { value, from } = nodeRank!;
  if (rank === undefined || rank === value || rank === value * countedAs(processesPerNode)) return;
  throw new LaunchError(
    2,
    `RANK is ${rank}, but ${from} is ${value}: both name this node, and contradict each other. Unset RANK: the launcher sets it for the processes.`,
  );
}

/** Whoever reads RANK in the manifest of a PyTorchJob may take it for a process's. */
function noteOnRank(
  { rank }: OperatorEnvironment,
  nodeRank: number,
  { nodes, processesPerNode }: Settled,
): string[] {
  if (rank === undefined || nodes.max === 1 || processesPerNode === 1) return [];
  const processes = typeof processesPerNode === 'number' ? `${processesPerNode} processes` : 'processes';
  return [
    `RANK is ${rank} in the environment: that of this node, ${nodeRank} of ${nodes.max}. Its ${processes} get ranks of their own.`,
  ];
}

type Meeting = Pick<Placement, 'masterAddress' | 'masterPort'> & Pick<RendezvousOptions, 'endpoint'>;

/** Processes of one node need no name that other hosts know, and no port that somebody else might have: what an operator says of them does not count. */
function settleMeeting(asked: Asked, operator: OperatorEnvironment, { max }: NodeRange): Meeting {
  const { masterAddr, masterPort: port, rdzvEndpoint } = asked;
  if (max === 1) {
    return {
      masterAddress: masterAddr?.byFlag ? masterAddr.value : undefined,
      masterPort: port?.byFlag ? port.value : undefined,
      endpoint: undefined,
    };
  }
  const masterAddress = masterAddr?.value ?? operator.readMasterAddress();
  const masterPort = port?.value ?? operator.readMasterPort();
  const master = masterAddress === undefined ? undefined : { host: masterAddress, port: masterPort };
  return { masterAddress, masterPort, endpoint: rdzvEndpoint?.value ?? master };
}

function formatNodes({ min, max }: NodeRange): string {
  return min === max ? String(min) : `${min}:${max}`;
}
