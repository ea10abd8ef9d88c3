import type { NativeGpuDevice } from '@ringrun/native';
import type { TensorData } from '../../dtype.ts';
import { inFloat32, sizeOf, type ValueType } from '../../value-type.ts';
import type { ValueMemory } from '../value-memory.ts';
import { allocateBytes, DeviceBuffer, deviceBuffer } from './device-buffer.ts';
import { bytesOf } from './element-types.ts';

/** Bytes up to which an input of one run is copied together with the others of the run. */
export const smallBytes = 4096;

/** The memory of a GPU. Copies and runs happen in the order of the calls. */
export function memoryOn(device: NativeGpuDevice): ValueMemory {
  const send = (array: TensorData, to: DeviceBuffer) => {
    // The next call of the device throws the error too.
    if (array.byteLength > 0) device.upload(array, to.memory, to.byteOffset).catch(() => undefined);
  };
  const allocate = (type: ValueType) => {
    const memory = allocateBytes(device, bytesOf(inFloat32(type).dtype) * sizeOf(type.shape));
    return new DeviceBuffer(sizeOf(type.shape), { memory, isOfOneRun: true, type }).value;
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
    download: async (output) => {
      const buffer = deviceBuffer(output);
      const array = buffer.newArray();
      try {
        if (array.byteLength > 0) await device.download(buffer.memory, array);
      } finally {
        buffer.free();
      }
      return array;
    },
    move: (output, to) => {
      const [from, target] = [deviceBuffer(output), deviceBuffer(to)];
      const bytes = Math.min(from.memory.bytes, target.memory.bytes - target.byteOffset);
      device.copy(from.memory, target.memory, bytes, from.byteOffset, target.byteOffset);
      from.free();
    },
    keep: (array) => {
      const memory = array.byteLength > 0 ? device.allocateWith(array) : allocateBytes(device, 0);
      return new DeviceBuffer(array.length, { memory }).value;
    },
    write: (buffer, array) => {
      send(array, deviceBuffer(buffer));
    },
    read: (buffer, array) => {
      const { memory, byteOffset } = deviceBuffer(buffer);
      if (array.byteLength > 0) device.downloadSync(memory, array, byteOffset);
    },
    usesHostMemory: false,
  };
}

/** Of a detached array: without elements. */
function copyOf({ buffer, byteOffset, byteLength }: TensorData): Uint8Array {
  return byteLength === 0 ? new Uint8Array() : new Uint8Array(buffer, byteOffset, byteLength).slice();
}
