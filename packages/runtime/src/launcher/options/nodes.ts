import { CommandError } from '../launch-error.ts';
import type { RequestedOptions } from './requested-options.ts';
import type { LaunchOptions, NodeRange, ProcessesPerNode } from './launch-options.ts';
import { readOperator } from './operator-environment.ts';
import type { OperatorEnvironment } from './operator-environment.ts';
import { defaultRendezvousConfig } from './rendezvous-config.ts';
import type { RendezvousOptions } from './rendezvous-options.ts';

/** The nodes of the job, and the position of this node among them. */
export type Placement = Pick<
  LaunchOptions,
  'nodes' | 'processesPerNode' | 'nodeRank' | 'masterAddress' | 'masterPort' | 'rendezvous'
> & { warnings: readonly string[] };

const oneNode: NodeRange = { min: 1, max: 1 };

/**
 * Determines the number of nodes, the rank of this node and the rendezvous endpoint. Precedence: flags, then PET_*
 * variables, then RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT, which Kubeflow's operators set per node.
 *
 * @throws CommandError that names both settings if two contradict each other.
 */
export function resolveNodes(requested: RequestedOptions, env: NodeJS.ProcessEnv): Placement {
  const processesPerNode = resolveProcesses(requested);
  const standalone = requested.standalone?.value === true;
  refuseSecondWorld(env, standalone);
  if (standalone) return standaloneNode(requested, processesPerNode);
  const operator = readOperator(env);
  const nodes = resolveCount(requested, operator, processesPerNode);
  const backend = resolveBackend(requested, nodes);
  const { nodeRank, warnings } = resolveRank(requested, operator, { nodes, backend, processesPerNode });
  const endpoints = resolveEndpoints(requested, operator, nodes);
  const config = requested.rdzvConf?.value ?? defaultRendezvousConfig;
  return {
    nodes,
    processesPerNode,
    nodeRank,
    masterAddress: endpoints.masterAddress,
    masterPort: endpoints.masterPort,
    rendezvous: { backend, endpoint: endpoints.endpoint, config },
    warnings,
  };
}

function resolveProcesses({ nproc, nprocPerNode }: RequestedOptions): ProcessesPerNode {
  if (nproc && nprocPerNode?.byFlag && nproc.value !== nprocPerNode.value) {
    throw new CommandError(
      2,
      `--nproc ${nproc.value} and --nproc-per-node ${nprocPerNode.value} contradict each other: they are the same option. Remove one.`,
    );
  }
  return (nproc ?? nprocPerNode)?.value ?? 1;
}

/** A launcher inside a worker would start one job per worker. Usually the script calls `ringrun` by mistake. */
function refuseSecondWorld(env: NodeJS.ProcessEnv, standalone: boolean): void {
  const job = ['RINGRUN_RUN_ID', 'TORCHELASTIC_RUN_ID'].find((name) => env[name]);
  const localRank = env['LOCAL_RANK'];
  if (standalone || job === undefined || !localRank) return;
  throw new CommandError(
    2,
    `Another launcher's worker started this launcher (${job} is ${env[job]}, LOCAL_RANK is ${localRank}), so each worker would start a job of its own. ` +
      'Start the script directly, or pass --standalone if you want one job per worker.',
  );
}

function standaloneNode(requested: RequestedOptions, processesPerNode: ProcessesPerNode): Placement {
  const { standalone, nnodes } = requested;
  // For experiments inside a pod: the flag --standalone overrides the operator's PET_NNODES.
  const isOverruled = standalone!.byFlag && nnodes?.byFlag === false;
  if (nnodes && nnodes.value.max > 1 && !isOverruled) {
    throw new CommandError(
      2,
      `${standalone!.from} and ${nnodes.from}=${formatNodes(nnodes.value)} contradict each other: a standalone job has one node. Remove one.`,
    );
  }
  return {
    nodes: oneNode,
    processesPerNode,
    nodeRank: 0,
    masterAddress: requested.masterAddr?.byFlag ? requested.masterAddr.value : undefined,
    masterPort: requested.masterPort?.byFlag ? requested.masterPort.value : undefined,
    rendezvous: {
      backend: 'c10d',
      endpoint: undefined,
      config: requested.rdzvConf?.value ?? defaultRendezvousConfig,
    },
    warnings: [],
  };
}

/**
 * --nnodes, PET_NNODES or WORLD_SIZE. WORLD_SIZE is nodes × processes per node (`auto` counts as 1) in a PyTorchJob,
 * and the number of nodes under older operators.
 */
function resolveCount(
  requested: RequestedOptions,
  operator: OperatorEnvironment,
  processes: ProcessesPerNode,
): NodeRange {
  if (requested.nnodes) {
    if (!requested.nnodes.byFlag) checkWorldSize(requested, operator, processes);
    return requested.nnodes.value;
  }
  const { rank, worldSize } = operator;
  if (rank === undefined && worldSize === undefined) return oneNode;
  if (rank === undefined || worldSize === undefined) {
    const [set, missing] = rank === undefined ? ['WORLD_SIZE', 'RANK'] : ['RANK', 'WORLD_SIZE'];
    throw new CommandError(
      2,
      `${set} is ${rank ?? worldSize}, but ${missing} is not set. Set both for several nodes, or pass --nnodes, or --standalone to run on this node alone.`,
    );
  }
  const each = countedAs(processes);
  if (worldSize % each === 0) return { min: worldSize / each, max: worldSize / each };
  throw new CommandError(
    2,
    `WORLD_SIZE: expected a multiple of the ${each} processes per node, got ${worldSize}. Pass --nnodes, or change --nproc-per-node.`,
  );
}

/** Detects a mistake in a manifest. Only variables are compared with each other: flags override them. */
function checkWorldSize(
  { nnodes, nprocPerNode }: RequestedOptions,
  { worldSize }: OperatorEnvironment,
  processes: ProcessesPerNode,
): void {
  const { min, max } = nnodes!.value;
  if (worldSize === undefined || min !== max) return;
  const own = nprocPerNode?.byFlag === false ? nprocPerNode : undefined;
  // The operator counts `auto` as 1, because it does not know the number; other tools may know it.
  const isCounted = [own?.value, processes].some((one) => typeof one === 'string');
  const expected = [own?.value ?? 1, processes].map((one) => max * countedAs(one));
  if (expected.includes(worldSize) || (isCounted && worldSize % max === 0)) return;
  const factor = own ? ` × ${own.from} (${own.value})` : '';
  throw new CommandError(
    2,
    `WORLD_SIZE is ${worldSize}, but ${nnodes!.from} (${max})${factor} is ${isCounted ? `a multiple of ${max}` : expected[0]}: ` +
      'the variables contradict each other. Correct the manifest, or unset WORLD_SIZE: the launcher sets it for the workers.',
  );
}

function countedAs(processes: ProcessesPerNode): number {
  return typeof processes === 'number' ? processes : 1;
}

function resolveBackend(
  { rdzvBackend }: RequestedOptions,
  { min, max }: NodeRange,
): RendezvousOptions['backend'] {
  const backend = rdzvBackend?.value ?? 'static';
  if (backend === 'c10d' || min === max) return backend;
  throw new CommandError(
    2,
    `--nnodes ${min}:${max}: expected one number with the static rendezvous, which needs a fixed number of nodes. To let nodes join and leave, add --rdzv-backend c10d.`,
  );
}

interface ResolvedNodes {
  nodes: NodeRange;
  backend: RendezvousOptions['backend'];
  processesPerNode: ProcessesPerNode;
}

/** With c10d, --node-rank is ignored, as under torchrun: the rendezvous assigns the ranks. */
function resolveRank(
  requested: RequestedOptions,
  operator: OperatorEnvironment,
  resolved: ResolvedNodes,
): { nodeRank: number | undefined; warnings: string[] } {
  const { nodes, backend } = resolved;
  if (backend === 'c10d') return { nodeRank: nodes.max === 1 ? 0 : undefined, warnings: [] };
  if (requested.nodeRank?.byFlag === false) checkRank(requested, operator, resolved);
  const given = requested.nodeRank ?? rankOf(operator);
  const nodeRank = given?.value ?? 0;
  if (nodeRank >= nodes.max) {
    throw new CommandError(
      2,
      nodes.max === 1
        ? `${given!.from}: expected 0 in a job of one node, got ${nodeRank}. Pass the number of nodes with --nnodes.`
        : `${given!.from}: expected a rank from 0 to ${nodes.max - 1} in a job of ${nodes.max} nodes, got ${nodeRank}.`,
    );
  }
  return { nodeRank, warnings: given?.byFlag ? [] : warningsOnRank(operator, nodeRank, resolved) };
}

function rankOf({ rank }: OperatorEnvironment) {
  return rank === undefined ? undefined : { value: rank, from: 'RANK', byFlag: false };
}

/** A PyTorchJob sets RANK and PET_NODE_RANK to the same number; other tools set RANK to the node's first worker. */
function checkRank(
  { nodeRank }: RequestedOptions,
  { rank }: OperatorEnvironment,
  { processesPerNode }: ResolvedNodes,
): void {
  const { value, from } = nodeRank!;
  if (rank === undefined || rank === value || rank === value * countedAs(processesPerNode)) return;
  throw new CommandError(
    2,
    `RANK is ${rank}, but ${from} is ${value}: both are the rank of this node and contradict each other. Unset RANK: the launcher sets it for the workers.`,
  );
}

/** In the manifest of a PyTorchJob, RANK looks like the rank of a process. */
function warningsOnRank(
  { rank }: OperatorEnvironment,
  nodeRank: number,
  { nodes, processesPerNode }: ResolvedNodes,
): string[] {
  if (rank === undefined || nodes.max === 1 || processesPerNode === 1) return [];
  const processes = typeof processesPerNode === 'number' ? `${processesPerNode} processes` : 'processes';
  return [
    `RANK=${rank} is the rank of this node (${nodeRank} of ${nodes.max}). Its ${processes} receive their own ranks.`,
  ];
}

type Endpoints = Pick<Placement, 'masterAddress' | 'masterPort'> & Pick<RendezvousOptions, 'endpoint'>;

/** For one node, an operator's MASTER_ADDR and MASTER_PORT are ignored: loopback and a free port always work. */
function resolveEndpoints(
  requested: RequestedOptions,
  operator: OperatorEnvironment,
  { max }: NodeRange,
): Endpoints {
  const { masterAddr, masterPort: port, rdzvEndpoint } = requested;
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
