import type { ProcessGroup } from '@ringrun/collectives';
import type { DistributedBuffer, DistributedModule } from './distributed-module.ts';

/**
 * Gives every rank the buffers of rank `src` (torch: _sync_buffers), in one broadcast of their bytes side by side, whatever their dtypes. A model without
 * buffers sends nothing. A collective, over when it returns: what the model computes next reads them.
 */
export function broadcastBuffers(group: ProcessGroup, module: DistributedModule, src = 0): void {
  const buffers = Array.from(module.namedBuffers(), ([, buffer]) => bytesOf(buffer));
  if (buffers.length === 0 || group.size === 1) return;
  const together = new Uint8Array(buffers.reduce((sum, { length }) => sum + length, 0));
  if (group.rank === src) gather(buffers, together);
  group.broadcastSync(together, { src });
  if (group.rank !== src) spread(together, buffers);
}

export function bytesOf({ data }: DistributedBuffer): Uint8Array {
  return new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
}

function gather(buffers: readonly Uint8Array[], together: Uint8Array): void {
  let offset = 0;
  for (const bytes of buffers) {
    together.set(bytes, offset);
    offset += bytes.length;
  }
}

function spread(together: Uint8Array, buffers: readonly Uint8Array[]): void {
  let offset = 0;
  for (const bytes of buffers) {
    bytes.set(together.subarray(offset, offset + bytes.length));
    offset += bytes.length;
  }
}
