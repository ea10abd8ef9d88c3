import type { ProcessGroup } from '@ringrun/collectives';
import type { DistributedModule } from './distributed-module.ts';

/**
 * Gives every rank the buffers of rank `src`, in one broadcast of all of them side by side (torch: _sync_buffers, coalesced by dtype; buffers have one,
 * float32). A model without buffers sends nothing. A collective, over when it returns: what the model computes next reads them.
 */
export function broadcastBuffers(group: ProcessGroup, module: DistributedModule, src = 0): void {
  const buffers = Array.from(module.namedBuffers(), ([, { data }]) => data);
  if (buffers.length === 0 || group.size === 1) return;
  const together = new Float32Array(buffers.reduce((sum, { length }) => sum + length, 0));
  if (group.rank === src) gather(buffers, together);
  group.broadcastSync(together, { src });
  if (group.rank !== src) spread(together, buffers);
}

function gather(buffers: readonly Float32Array[], together: Float32Array): void {
  let offset = 0;
  for (const data of buffers) {
    together.set(data, offset);
    offset += data.length;
  }
}

function spread(together: Float32Array, buffers: readonly Float32Array[]): void {
  let offset = 0;
  for (const data of buffers) {
    data.set(together.subarray(offset, offset + data.length));
    offset += data.length;
  }
}
