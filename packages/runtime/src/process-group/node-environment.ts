import { InvalidArgumentError } from '@ringrun/collectives';

/**
 * Refuses the environment of a node, in which a launcher is expected to start the processes: without one, ranks would wait for others that nobody starts, or
 * each node would train alone. Kubeflow's operators set PET_* for torchrun, and the RANK of a PyTorchJob is the node's when a node runs several processes.
 *
 * A process that a launcher has started has LOCAL_RANK, and nothing to fear.
 *
 * @throws InvalidArgumentError that says what is set, and what to start instead.
 */
export function refuseEnvironmentOfNode(env: NodeJS.ProcessEnv): void {
  const isSet = (name: string) => (env[name]?.trim() ?? '') !== '';
  if (isSet('LOCAL_RANK')) return;
  const perNode = Number(env['PET_NPROC_PER_NODE'] ?? env['PET_N_PROC_PER_NODE'] ?? 1);
  const several =
    perNode > 1 ? `${perNode} processes are to run on this node (PET_NPROC_PER_NODE)` : undefined;
  if (isSet('RANK') && isSet('WORLD_SIZE')) {
    const isRankOfNode = several !== undefined && env['RANK'] === env['PET_NODE_RANK'];
    if (isRankOfNode) throw refusal(`${several}, and RANK=${env['RANK']} is the node's`);
    return;
  }
  const nodes = env['PET_NNODES']?.trim() ?? '';
  if (nodes !== '' && nodes !== '1' && nodes !== '1:1') {
    throw refusal(
      `PET_NNODES is ${nodes}, but RANK and WORLD_SIZE are not set, so that each node would train alone`,
    );
  }
  if (several !== undefined) throw refusal(`${several}, but RANK and WORLD_SIZE are not set`);
}

function refusal(why: string): InvalidArgumentError {
  return new InvalidArgumentError(
    `This process was started without a launcher in an environment that is made for one: ${why}. ` +
      'Start the script by `ringrun train.js` instead of `node train.js`: it takes everything from these variables.',
  );
}
