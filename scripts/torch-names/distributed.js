/** Replacements for names of torch.distributed; see `TorchNames` of @ringrun/nn. */
export const distributedNames = {
  ProcessGroup: "import type { ProcessGroup } from '@ringrun/core'",
  Store: "import type { Store } from '@ringrun/core'",
  Work: 'The promise that a collective returns.',
  all_gather_into_tensor: 'dist.allGather(output, input)',
  all_to_all_single: 'dist.allToAll(output, input)',
  batch_isend_irecv: 'Use `Promise.all` of `dist.isend` and `dist.irecv`.',
  broadcast_object_list: 'dist.broadcastObject(value, source)',
  get_node_local_rank: 'Number(process.env.LOCAL_RANK)',
  is_available: 'Always true.',
  is_gloo_available: 'Always true.',
  is_torchelastic_launched: "'RINGRUN_RUN_ID' in process.env",
  recv_object_list: 'dist.broadcastObject(value, source)',
  reduce_scatter_tensor: 'dist.reduceScatter(output, input)',
  scatter_object_list: 'dist.scatterObject(values, source)',
};
