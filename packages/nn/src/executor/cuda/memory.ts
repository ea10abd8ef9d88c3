import type { NativeGpuDevice } from '@ringrun/native';
import type { TensorData } from '../../dtype.ts';
import { inFloat32, sizeOf, type ValueType } from '../../value-type.ts';
import type { ValueMemory } from '../value-memory.ts';
import { allocateBytes, DeviceBuffer, deviceBuffer } from './device-buffer.ts';
import { bytesOf } from './element-types.ts';

/** Bytes up to which an input or output of one run is copied together with the others of the run. */
export const smallBytes = 4096;

/** The memory of a GPU. Copies and runs happen in the order of the calls. */
export function memoryOn(device: NativeGpuDevice): ValueMemory {
  const send = (array: TensorData | Uint8Array, to: DeviceBuffer) => {
    // The next call of the device throws the error too.
    if (array.byteLength > 0) device.upload(array, to.memory, to.byteOffset).catch(() => undefined);
  };
  // A run copies a small output to the host, so most of them need no memory.
  const allocate = (type: ValueType) => {
    const bytes = bytesOf(inFloat32(type).dtype) * sizeOf(type.shape);
    const memory = () => allocateBytes(device, bytes);
    const options = bytes > smallBytes ? { memory: memory() } : { allocate: memory };
    return new DeviceBuffer(sizeOf(type.shape), { ...options, isOfOneRun: true, type }).value;
  };
  return {
    allocate,
    reserve: allocate,
    upload: (array) => {
      if (array.byteLength <= smallBytes) {
        return new DeviceBuffer(array.length, { snapshot: copyOf(array), isOfOneRun: true }).value;
      }
      const memory = device.allocateWith(array);
      return new DeviceBuffer(array.length, { memory, isOfOneRun: true }).value;
    },
    download: (output) => {
      const buffer = deviceBuffer(output);
      const array = buffer.newArray();
      if (!buffer.snapshot) return downloaded(device, buffer, array);
      write(buffer.snapshot, array);
      buffer.free();
      return array;
    },
    move: (outputs) => {
      const pairs = outputs.map(([output, to]) => [deviceBuffer(output), deviceBuffer(to)] as const);
      device.copyAll({
        uploads: pairs.flatMap(([{ snapshot }, { memory, byteOffset }]) =>
          snapshot ? [{ from: snapshot, to: memory, byteOffset }] : [],
        ),
        moves: pairs.flatMap(([from, { memory, byteOffset }]) => {
          if (from.snapshot) return [];
          const bytes = Math.min(from.memory.bytes, memory.bytes - byteOffset);
          return [
            { from: from.memory, byteOffset: from.byteOffset, to: memory, toOffset: byteOffset, bytes },
          ];
        }),
      });
      for (const [from] of pairs) from.free();
    },
    keep: (array) => {
      const memory = array.byteLength > 0 ? device.allocateWith(array) : allocateBytes(device, 0);
      return new DeviceBuffer(array.length, { memory }).value;
    },
    write: (buffer, array) => {
      send(array, deviceBuffer(buffer));
    },
    read: (buffer, array) => {
      const from = deviceBuffer(buffer);
      if (from.snapshot) write(from.snapshot, array);
      else if (array.byteLength > 0) device.downloadSync(from.memory, array, from.byteOffset);
    },
    usesHostMemory: false,
  };
}

async function downloaded(
  device: NativeGpuDevice,
  buffer: DeviceBuffer,
  array: TensorData,
): Promise<TensorData> {
  try {
    if (array.byteLength > 0) await device.download(buffer.memory, array);
  } finally {
    buffer.free();
  }
  return array;
}

function write(bytes: Uint8Array, to: TensorData): void {
  new Uint8Array(to.buffer, to.byteOffset, to.byteLength).set(bytes);
}

/** Of a detached array: without elements. */
function copyOf({ buffer, byteOffset, byteLength }: TensorData): Uint8Array {
  return byteLength === 0 ? new Uint8Array() : new Uint8Array(buffer, byteOffset, byteLength).slice();
}
