/*
 * The variables that Kubeflow's operators set in a pod (training-operator 1.9, Trainer of August 2026).
 */

export type Environment = Record<string, string>;

/** For replica `rank` of a PyTorchJob with a Master (rank 0) and workers. */
export function pytorchJob(rank: number, replicas: number, nprocPerNode: 'auto' | number): Environment {
  const counted = nprocPerNode === 'auto' ? 1 : nprocPerNode;
  return {
    PYTHONUNBUFFERED: '1',
    MASTER_ADDR: 'job-master-0',
    PET_MASTER_ADDR: 'job-master-0',
    MASTER_PORT: '23456',
    PET_MASTER_PORT: '23456',
    WORLD_SIZE: String(replicas * counted),
    RANK: String(rank),
    PET_NODE_RANK: String(rank),
    PET_NPROC_PER_NODE: String(nprocPerNode),
    PET_NNODES: String(replicas),
  };
}

/** The same under the pytorch-operator of 2020. */
export function oldPytorchJob(rank: number, replicas: number): Environment {
  return {
    MASTER_ADDR: rank === 0 ? 'localhost' : 'job-master-0',
    MASTER_PORT: '23456',
    WORLD_SIZE: String(replicas),
    RANK: String(rank),
  };
}

/** For any worker of a PyTorchJob with an elasticPolicy and no Master. */
export function elasticPytorchJob(nodes: string): Environment {
  return {
    PYTHONUNBUFFERED: '1',
    PET_NNODES: nodes,
    PET_NPROC_PER_NODE: 'auto',
    PET_RDZV_BACKEND: 'c10d',
    PET_RDZV_ENDPOINT: 'job-worker-0:23456',
    PET_MAX_RESTARTS: '10',
  };
}

/** For node `rank` of a TrainJob. */
export function trainJob(rank: number, nodes: number, nprocPerNode: string): Environment {
  return {
    PET_NNODES: String(nodes),
    PET_NPROC_PER_NODE: nprocPerNode,
    PET_NODE_RANK: String(rank),
    PET_MASTER_ADDR: 'job-node-0-0.job',
    PET_MASTER_PORT: '29500',
  };
}
